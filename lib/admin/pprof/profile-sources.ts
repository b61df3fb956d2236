// Where a place in the built code stands in our TypeScript, by the tables and source maps beside it; and names of files that
// say nothing of the machine they are on.

import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import type { SourceMapPayload } from 'node:module'
import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readSourceLookup } from '../../core/source-positions.ts'
import type { SourceLookup, SourcePosition } from '../../core/source-positions.ts'

/** The folder of all that is built, seen from its lib/admin/pprof/. */
const BUILT = fileURLToPath(new URL('../../..', import.meta.url))

/** A line's last mapping is one of its own, whatever stands in front of it. */
const LAST_COLUMN = 1_000_000

/** For one profile: what it reads, it reads once. */
export class SourceNames {
  readonly #maps = new Map<string, SourceLookup | null>()

  /** `line` counts from 1; one that is not in this file (code of others that was inlined) is told as 0. */
  positionOf(url: string, line: number): SourcePosition {
    if (!url.startsWith('file://')) return { file: url === '' ? '(native)' : url, line }
    const path = fileURLToPath(url)
    const places = this.#mapOf(path)
    const file = shortenPath(path)
    return places === null ? { file, line } : (places.findPosition(line) ?? { file, line: 0 })
  }

  /** What the function of this name in the built code is called in ours. */
  nameOf(url: string, name: string): string {
    return url.startsWith('file://')
      ? (this.#mapOf(fileURLToPath(url))?.originalNameOf(name) ?? name)
      : name
  }

  #mapOf(path: string): SourceLookup | null {
    let places = this.#maps.get(path)
    if (places === undefined) {
      places = readSourceLookup(path) ?? readMap(path)
      this.#maps.set(path, places)
    }
    return places
  }
}

/** A map that cannot be read is as good as none: the profile then has the built code's lines. */
function readMap(path: string): SourceLookup | null {
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

/** Each file is built from the one of the same name. */
function shortenPath(path: string): string {
  const inside = relative(BUILT, path)
  if (!inside.startsWith('..') && !isAbsolute(inside)) return inside.replace(/\.js$/, '.ts')
  const at = path.lastIndexOf('node_modules/')
  return at < 0 ? path.slice(path.lastIndexOf('/') + 1) : path.slice(at)
}
