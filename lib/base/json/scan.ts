// JSON read in place: one checking pass over the bytes, and spans of what was found, so that a message can be
// looked at and edited without being parsed and written anew.

/** A value's bytes: from its first to behind its last. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A member of an object: its key, decoded, and its value's bytes. */
export interface Member extends Span {
  readonly key: string
}

/** How deep values may be nested. */
export const MAX_JSON_DEPTH = 512

/** Checks that the bytes are one JSON value and nothing else but white space; null if they are not. */
export function valueOf(_bytes: Buffer): Span | null {
  throw new Error('not written yet')
}

/** The members of the object there; the bytes have passed `valueOf`. */
export function membersOf(_bytes: Buffer, _object: Span): Member[] {
  throw new Error('not written yet')
}

/** The items of the array there; the bytes have passed `valueOf`. */
export function itemsOf(_bytes: Buffer, _array: Span): Span[] {
  throw new Error('not written yet')
}

/** The text of the string there, or undefined for any other value. */
export function stringAt(_bytes: Buffer, _value: Span): string | undefined {
  throw new Error('not written yet')
}
