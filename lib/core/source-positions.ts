// Translates positions and function names of a bundle to those of the TypeScript sources, with the table that the build
// writes next to the bundle. A source map has the same content, but takes most of a second to read.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

export interface SourcePosition {
  readonly file: string
  /** From 1; 0 if it is not known. */
  readonly line: number
}

export interface SourceLookup {
  /** `line` counts from 1. */
  readonly findPosition: (line: number) => SourcePosition | null
  /** A bundle has all files in one scope, so the bundler renames functions that share a name. */
  readonly originalNameOf: (name: string) => string
}

interface SourceTable {
  readonly files: readonly string[]
  readonly names: Readonly<Record<string, string>>
  /** For each line of the bundle: the index of the file, and the line in it. */
  readonly lines: readonly number[]
}

/** `require` caches a table: reading it takes milliseconds, and every frame of a stack needs it. */
const readJson = createRequire(import.meta.url)

/** `at name (file:…:line:column)`, or without name and parentheses. */
const FRAME = /^( +at (?:.* \()?)(file:[^()\n]+\.bundle\.js):(\d+):\d+(\)?)$/gm
/** The name of the function, in the text before the position. */
const FUNCTION = /[\w$]+(?= (?:\[as [^\]]+\] )?\($)/

/** Null for a file that is not a bundle, or has no table. */
export function readSourceLookup(path: string): SourceLookup | null {
  const table = readSourceTable(path)
  if (table === null) return null
  const { files, names, lines } = table
  return {
    findPosition(line) {
      const file = files[lines[2 * (line - 1)] ?? -1]
      return file === undefined ? null : { file, line: lines[2 * line - 1] ?? 0 }
    },
    originalNameOf: (name) => (Object.hasOwn(names, name) ? names[name]! : name),
  }
}

function readSourceTable(path: string): SourceTable | null {
  if (!path.endsWith('.bundle.js')) return null
  try {
    return readJson(`${path}.places.json`) as SourceTable
  } catch {
    return null
  }
}

/** The stack of an error with files, lines and function names of the TypeScript sources. */
export function sourceStack(stack: string): string {
  return stack.replaceAll(FRAME, (frame, start: string, url: string, line: string, end: string) => {
    const lookup = findSourceLookup(url)
    const position = lookup?.findPosition(Number(line)) ?? null
    if (lookup === null || position === null) return frame
    const named = start.replace(FUNCTION, (name) => lookup.originalNameOf(name))
    return `${named}${position.file}:${position.line}${end}`
  })
}

/** The message of an error may contain lines that look like frames, with a URL that is not one of a file. */
function findSourceLookup(url: string): SourceLookup | null {
  try {
    return readSourceLookup(fileURLToPath(url))
  } catch {
    return null
  }
}
