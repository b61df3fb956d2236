// Edits of JSON in place: everything between the edited values stays as it was received, byte for byte.

import type { Span } from './scan.ts'

export interface Edit extends Span {
  readonly text: string
}

/** The bytes with every span replaced by its text. Edits do not overlap; their order does not matter. */
export function edited(_bytes: Buffer, _edits: readonly Edit[]): Buffer {
  throw new Error('not written yet')
}

/** Where a path leads: names of members, and '[]' for every item of an array. Missing parts lead nowhere. */
export function spansAt(_bytes: Buffer, _value: Span, _path: readonly string[]): Span[] {
  throw new Error('not written yet')
}
