// Where the lines of a bundle stand in our TypeScript, and what its functions are called there: by the table that the build
// leaves beside it. A source map says the same, but takes most of a second to read.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Position {
  readonly file: string
  /** From 1; 0 when nobody knows. */
  readonly line: number
}

export interface Places {
  /** `line` counts from 1. */
  readonly positionOf: (line: number) => Position | null
  /** A bundle has many files in one scope, where each name can be given but once. */
  readonly nameOf: (name: string) => string
}

interface Table {
  readonly files: readonly string[]
  readonly names: Readonly<Record<string, string>>
  /** Of each line in turn, the file's number and the line in it. */
  readonly lines: readonly number[]
}

interface Frame {
  toString(): string
  getFunctionName(): string | null
}

const FRAME = /(file:[^()]+\.bundle\.js):(\d+):\d+/

/** Null for what is no bundle, or has no table. */
export function readPlaces(path: string): Places | null {
  const table = readTable(path)
  if (table === null) return null
  const { files, names, lines } = table
  return {
    positionOf(line) {
      const file = files[lines[2 * (line - 1)] ?? -1]
      return file === undefined ? null : { file, line: lines[2 * line - 1] ?? 0 }
    },
    nameOf: (name) => (Object.hasOwn(names, name) ? names[name]! : name),
  }
}

function readTable(path: string): Table | null {
  if (!path.endsWith('.bundle.js')) return null
  try {
    return JSON.parse(readFileSync(`${path}.places.json`, 'utf8')) as Table
  } catch {
    return null
  }
}

/** From now on a stack that is looked at names our files and lines. */
export function tellSources(): void {
  let places: Places | null | undefined
  const told = (frame: Frame): string => {
    const text = frame.toString()
    const [at = '', url = '', line = ''] = FRAME.exec(text) ?? []
    if (at === '') return text
    places ??= readPlaces(fileURLToPath(url))
    const position = places?.positionOf(Number(line)) ?? null
    if (places === null || position === null) return text
    const name = frame.getFunctionName() ?? ''
    return text.replace(name, places.nameOf(name)).replace(at, `${position.file}:${position.line}`)
  }
  Error.prepareStackTrace = (error, frames) =>
    [String(error), ...frames.map((frame) => `    at ${told(frame)}`)].join('\n')
}
