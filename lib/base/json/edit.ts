// Edits of JSON in place: everything between the edited values stays as it was received, byte for byte.

import assert from 'node:assert'
import { itemsOf, membersOf } from './scan.ts'
import type { Span } from './scan.ts'

export interface Edit extends Span {
  readonly text: string
}

/** A step of a path that leads to every item of an array. */
const EVERY_ITEM = '[]'

/**
 * The bytes with every span replaced by its text. Edits do not overlap; their order does not matter. The bytes given
 * are left alone, and are returned when there is nothing to edit.
 */
export function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
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

/** Where a path leads: names of members, and '[]' for every item of an array. Missing parts lead nowhere. */
export function spansAt(bytes: Buffer, value: Span, path: readonly string[]): Span[] {
  let spans: Span[] = [value]
  for (const step of path)
    spans = spans.flatMap((span): Span[] =>
      step === EVERY_ITEM
        ? itemsOf(bytes, span)
        : membersOf(bytes, span).filter(({ key }) => key === step),
    )
  return spans
}
