// Edits of JSON in place: all bytes outside the edited values stay as received. Also parses text as a JSON object.

import assert from 'node:assert'
import { listItems, listMembers } from './json-scan.ts'
import type { ByteSpan } from './json-scan.ts'

export interface JsonEdit extends ByteSpan {
  readonly text: string
}

/** A path step that selects every item of an array. */
const EVERY_ITEM = '[]'

/**
 * The bytes with every span replaced by its text. Edits must not overlap; their order does not matter.
 * The input is not modified, and is returned if there are no edits.
 */
export function applyEdits(bytes: Buffer, edits: readonly JsonEdit[]): Buffer {
  if (edits.length === 0) return bytes
  const inOrder =
    edits.length === 1 ? edits : edits.toSorted((a, b) => a.from - b.from || a.to - b.to)
  let length = bytes.length
  let last = 0
  for (const { from, to, text } of inOrder) {
    assert(last <= from && from <= to && to <= bytes.length, 'edits overlap')
    length += Buffer.byteLength(text) - (to - from)
    last = to
  }
  const out = Buffer.allocUnsafe(length)
  let [read, written] = [0, 0]
  for (const { from, to, text } of inOrder) {
    written += bytes.copy(out, written, read, from)
    written += out.write(text, written)
    read = to
  }
  bytes.copy(out, written, read)
  return out
}

/** The spans a path selects: each step is a member name, or '[]' for every item of an array. */
export function findSpans(bytes: Buffer, value: ByteSpan, path: readonly string[]): ByteSpan[] {
  let spans: ByteSpan[] = [value]
  for (const step of path)
    spans = spans.flatMap((span): ByteSpan[] =>
      step === EVERY_ITEM
        ? listItems(bytes, span)
        : listMembers(bytes, span).filter(({ key }) => key === step),
    )
  return spans
}

/** Parses text as a JSON object; null if it is anything else. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
