// JSON read in place: one checking pass over the bytes, and spans of what was found, so that a message can be
// looked at and edited without being parsed and written anew.

import { isUtf8 } from 'node:buffer'
import { byteAt, checkedEnd, spaceEnd } from './check.ts'

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

const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const LAST_SPACE = 32
const LAST_ASCII = 127

/** Longer strings are worth a native search for their end. */
const SHORT_STRING = 128

/** Checks that the bytes are one JSON value and nothing else but white space; null if they are not. */
export function valueOf(bytes: Buffer): Span | null {
  const from = spaceEnd(bytes, 0)
  const to = checkedEnd(bytes, from, MAX_JSON_DEPTH)
  if (to < 0 || spaceEnd(bytes, to) !== bytes.length || !isUtf8(bytes)) return null
  return { from, to }
}

/** The members of the object there, no more than `most`, [] for any other value; the bytes have passed `valueOf`. */
export function membersOf(bytes: Buffer, { from, to }: Span, most = Infinity): Member[] {
  const members: Member[] = []
  if (byteAt(bytes, from) !== OPEN_BRACE) return members
  let at = spaceEnd(bytes, from + 1)
  while (at < to && bytes[at] === QUOTE && members.length < most) {
    const keyEnd = skipString(bytes, at + 1)
    const key = textOf(bytes, at + 1, keyEnd - 1)
    const colon = spaceEnd(bytes, keyEnd)
    const value = spaceEnd(bytes, colon + 1)
    const end = skipValue(bytes, value)
    members.push({ key, from: value, to: end })
    at = nextAt(bytes, end)
  }
  return members
}

/** The items of the array there, no more than `most`, [] for any other value; the bytes have passed `valueOf`. */
export function itemsOf(bytes: Buffer, { from, to }: Span, most = Infinity): Span[] {
  const items: Span[] = []
  if (byteAt(bytes, from) !== OPEN_BRACKET) return items
  let at = spaceEnd(bytes, from + 1)
  while (at < to && bytes[at] !== CLOSE_BRACKET && items.length < most) {
    const end = skipValue(bytes, at)
    items.push({ from: at, to: end })
    at = nextAt(bytes, end)
  }
  return items
}

/** The text of the string there, or undefined for any other value. */
export function stringAt(bytes: Buffer, { from, to }: Span): string | undefined {
  return byteAt(bytes, from) === QUOTE ? textOf(bytes, from + 1, to - 1) : undefined
}

/** What lies between the quotes. Most texts, and all of the names we look for, are plain ASCII and short. */
function textOf(bytes: Buffer, from: number, to: number): string {
  if (to - from > SHORT_STRING) return decoded(bytes, from, to)
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte === BACKSLASH || byte > LAST_ASCII) return decoded(bytes, from, to)
  }
  return bytes.latin1Slice(from, to)
}

function decoded(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

/** From behind a value to the next one, or to what closes both. */
function nextAt(bytes: Buffer, from: number): number {
  const at = spaceEnd(bytes, from)
  return byteAt(bytes, at) === COMMA ? spaceEnd(bytes, at + 1) : at
}

// Below, the bytes are known to be well-formed: each function goes from the first byte of something to behind its last.

function skipValue(bytes: Buffer, from: number): number {
  const first = byteAt(bytes, from)
  if (first === QUOTE) return skipString(bytes, from + 1)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, from)
  let at = from + 1
  while (at < bytes.length && !isBehindScalar(bytes[at]!)) at++
  return at
}

function isBehindScalar(byte: number): boolean {
  return byte <= LAST_SPACE || byte === COMMA || byte === CLOSE_BRACKET || byte === CLOSE_BRACE
}

function skipNested(bytes: Buffer, from: number): number {
  const { length } = bytes
  let depth = 0
  let at = from
  while (at < length) {
    const byte = bytes[at++]!
    if (byte === QUOTE) at = skipString(bytes, at)
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) break
  }
  return at
}

/** From behind the opening quote. */
function skipString(bytes: Buffer, from: number): number {
  const near = Math.min(from + SHORT_STRING, bytes.length)
  let at = from
  while (at < near) {
    const byte = bytes[at++]!
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return skipLongString(bytes, at)
}

/** A quote ends the string unless backslashes stand before it, an odd number of them. */
function skipLongString(bytes: Buffer, from: number): number {
  let quote = bytes.indexOf(QUOTE, from)
  while (quote > from) {
    let before = quote
    while (before > from && bytes[before - 1] === BACKSLASH) before--
    if ((quote - before) % 2 === 0) break
    quote = bytes.indexOf(QUOTE, quote + 1)
  }
  return quote < 0 ? bytes.length : quote + 1
}
