// Where a place in the built code stands in our TypeScript, by the source maps beside it; and names of files that say
// nothing of the machine they are on.

import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import type { SourceMapPayload } from 'node:module'
import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Position {
  readonly file: string
  /** From 1; 0 when nobody knows. */
  readonly line: number
}

/** The folder of all that is built, seen from its lib/admin/pprof/. */
const BUILT = fileURLToPath(new URL('../../../', import.meta.url))

/** A line's last mapping is one of its own, whatever stands in front of it. */
const LAST_COLUMN = 1_000_000

/** For one profile: what it reads, it reads once. */
export class Sources {
  readonly #maps = new Map<string, SourceMap | null>()

  /** `line` counts from 1; one that is not in this file (code of others that was inlined) is told as 0. */
  positionOf(url: string, line: number): Position {
    if (!url.startsWith('file://')) return { file: url === '' ? '(native)' : url, line }
    const path = fileURLToPath(url)
    const map = this.#mapOf(path)
    const file = shortened(path)
    if (map === null) return { file, line }
    const entry = map.findEntry(line - 1, LAST_COLUMN)
    const isKnown = 'originalLine' in entry && entry.generatedLine === line - 1
    return { file, line: isKnown ? entry.originalLine + 1 : 0 }
  }

  #mapOf(path: string): SourceMap | null {
    let map = this.#maps.get(path)
    if (map === undefined) {
      map = readMap(`${path}.map`)
      this.#maps.set(path, map)
    }
    return map
  }
}

/** A map that cannot be read is as good as none: the profile then has the built code's lines. */
function readMap(path: string): SourceMap | null {
  if (!existsSync(path)) return null
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload)
  } catch {
    return null
  }
}

/** Each file is built from the one of the same name. */
function shortened(path: string): string {
  const inside = relative(BUILT, path)
  if (!inside.startsWith('..') && !isAbsolute(inside)) return inside.replace(/\.js$/, '.ts')
  const at = path.lastIndexOf('node_modules/')
  return at < 0 ? path.slice(path.lastIndexOf('/') + 1) : path.slice(at)
}
