// Maps positions in the built code to the TypeScript sources, with the source maps next to it. File names contain no path
// of the machine.

import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import type { SourceMapPayload } from 'node:module'
import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readSourceLookup } from '../../core/source-positions.ts'
import type { SourceLookup, SourcePosition } from '../../core/source-positions.ts'

/** The folder of the build: this module is in its lib/admin/pprof/. */
const BUILD_FOLDER = fileURLToPath(new URL('../../..', import.meta.url))

/** Higher than any column, so that the last mapping of the line is found. */
const LAST_COLUMN = 1_000_000

/** Used for one profile: each file is read once. */
export class SourceNames {
  readonly #lookups = new Map<string, SourceLookup | null>()

  /** `line` counts from 1; the result has line 0 for a line that is not from this file (inlined code). */
  positionOf(url: string, line: number): SourcePosition {
    if (!url.startsWith('file://')) return { file: url === '' ? '(native)' : url, line }
    const path = fileURLToPath(url)
    const lookup = this.#lookupFor(path)
    const file = shortenPath(path)
    return lookup === null ? { file, line } : (lookup.findPosition(line) ?? { file, line: 0 })
  }

  /** The original name of a function of the built code. */
  nameOf(url: string, name: string): string {
    return url.startsWith('file://')
      ? (this.#lookupFor(fileURLToPath(url))?.originalNameOf(name) ?? name)
      : name
  }

  #lookupFor(path: string): SourceLookup | null {
    let lookup = this.#lookups.get(path)
    if (lookup === undefined) {
      lookup = readSourceLookup(path) ?? readSourceMap(path)
      this.#lookups.set(path, lookup)
    }
    return lookup
  }
}

/** Without a readable map the profile has lines of the built code. */
function readSourceMap(path: string): SourceLookup | null {
  if (!existsSync(`${path}.map`)) return null
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload)
    const file = shortenPath(path)
    return { findPosition: (line) => positionIn(map, file, line), originalNameOf: (name) => name }
  } catch {
    return null
  }
}

function positionIn(map: SourceMap, file: string, line: number): SourcePosition | null {
  const entry = map.findEntry(line - 1, LAST_COLUMN)
  const isKnown = 'originalLine' in entry && entry.generatedLine === line - 1
  return isKnown ? { file, line: entry.originalLine + 1 } : null
}

/** Each file is built from the source file of the same name. */
function shortenPath(path: string): string {
  const inside = relative(BUILD_FOLDER, path)
  if (!inside.startsWith('..') && !isAbsolute(inside)) return inside.replace(/\.js$/, '.ts')
  const at = path.lastIndexOf('node_modules/')
  return at < 0 ? path.slice(path.lastIndexOf('/') + 1) : path.slice(at)
}
