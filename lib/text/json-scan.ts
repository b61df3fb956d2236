// Reads JSON in place: one checking pass over the bytes, then the spans of members and items, so that a message can be
// read and edited without parsing and serialising it.

import { isUtf8 } from 'node:buffer'

/** The bytes of a value: from its first to before `to`. */
export interface ByteSpan {
  readonly from: number
  readonly to: number
}

/** A member of an object: its decoded key and the bytes of its value. */
export interface JsonMember extends ByteSpan {
  readonly key: string
}

/** The deepest nesting of values that is accepted. */
export const MAX_JSON_DEPTH = 512

// The grammar of RFC 8259 over bytes, in one pass and without recursion. Each function takes the index of a first byte and
// returns the index after the last, or -1. Past the end, bytes read as NUL, which no value contains.
// V8 loads an imported constant again at each use, and these are used for every byte: they stay in this file.

const QUOTE = 34
const PLUS = 43
const COMMA = 44
const MINUS = 45
const POINT = 46
const ZERO = 48
const NINE = 57
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
const SMALL_A = 97
const SMALL_E = 101
const SMALL_F = 102
const SMALL_U = 117
const OPEN_BRACE = 123
/** The distance from an opening bracket or brace to its closing one. */
const CLOSE = 2
/** The bit that makes a letter lower case. */
const LOWER = 32

const SPACE = byteTableOf(' \t\r\n')
/** Bytes that end a plain run in a string: control bytes, the quote and the backslash. */
const SPECIAL = byteTableOf('"\\')
SPECIAL.fill(1, 0, 32)
const ESCAPED = byteTableOf('"\\/bfnrtu')

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/** A longer run in a string is read eight bytes at a time. */
const SHORT_RUN = 128
const ONES = 0x01010101
const SPACES = 32 * ONES
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = 0x80808080

/** A table with 1 at the codes of the letters. */
export function byteTableOf(letters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const letter of letters) table[letter.charCodeAt(0)] = 1
  return table
}

/** The index after the value; -1 if it is malformed or nested deeper than `maxDepth`. */
function findCheckedEnd(bytes: Buffer, from: number, maxDepth: number): number {
  /** The closing bytes of the values that are open. */
  const closing: number[] = []
  let at = from
  let depth = 0
  for (;;) {
    const byte = byteAt(bytes, at)
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === maxDepth) return -1
      closing[depth++] = byte + CLOSE
      at = skipSpace(bytes, at + 1)
      if (byteAt(bytes, at) !== byte + CLOSE) {
        if (byte === OPEN_BRACE) at = keyEnd(bytes, at)
        if (at < 0) return -1
        continue
      }
    } else {
      at = scalarEnd(bytes, at)
      if (at < 0) return -1
    }
    // After a value, or at the end of an empty one: close what ends here, up to a comma.
    while (depth > 0) {
      at = skipSpace(bytes, at)
      const next = byteAt(bytes, at++)
      if (next === closing[depth - 1]) depth--
      else if (next === COMMA) break
      else return -1
    }
    if (depth === 0) return at
    at = skipSpace(bytes, at)
    if (closing[depth - 1] === OPEN_BRACE + CLOSE) at = keyEnd(bytes, at)
    if (at < 0) return -1
  }
}

function byteAt(bytes: Buffer, at: number): number {
  return at < bytes.length ? bytes[at]! : 0
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && SPACE[bytes[at]!] === 1) at++
  return at
}

/** The index after a key and its colon, where the value begins. */
function keyEnd(bytes: Buffer, from: number): number {
  if (byteAt(bytes, from) !== QUOTE) return -1
  const end = stringEnd(bytes, from + 1)
  if (end < 0) return -1
  const colon = skipSpace(bytes, end)
  return byteAt(bytes, colon) === COLON ? skipSpace(bytes, colon + 1) : -1
}

function scalarEnd(bytes: Buffer, from: number): number {
  switch (byteAt(bytes, from)) {
    case QUOTE:
      return stringEnd(bytes, from + 1)
    case TRUE[0]:
      return literalEnd(bytes, from, TRUE)
    case FALSE[0]:
      return literalEnd(bytes, from, FALSE)
    case NULL[0]:
      return literalEnd(bytes, from, NULL)
    default:
      return numberEnd(bytes, from)
  }
}

/** The index after the closing quote; `from` is after the opening one. */
function stringEnd(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const near = Math.min(at + SHORT_RUN, bytes.length)
    while (at < near && SPECIAL[bytes[at]!] === 0) at++
    if (at === near) at = skipPlainText(bytes, at)
    const byte = byteAt(bytes, at)
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) return -1
    at = escapeEnd(bytes, at + 1)
    if (at < 0) return -1
  }
}

/**
 * Finds the end of plain bytes in a string, eight at a time. Subtracting 32 sets the high bit of a byte below 32;
 * subtracting 1 sets that of a zero byte, which the XOR makes of a quote.
 */
function skipPlainText(bytes: Buffer, from: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const last = bytes.length - 8
  let at = from
  while (at <= last) {
    const a = view.getInt32(at)
    const b = view.getInt32(at + 4)
    const inA = (a - SPACES) | ((a ^ QUOTES) - ONES) | ((a ^ BACKSLASHES) - ONES)
    const inB = (b - SPACES) | ((b ^ QUOTES) - ONES) | ((b ^ BACKSLASHES) - ONES)
    // A byte whose own high bit is set is part of a UTF-8 sequence.
    if ((((inA & ~a) | (inB & ~b)) & HIGH_BITS) !== 0) break
    at += 8
  }
  while (at < bytes.length && SPECIAL[bytes[at]!] === 0) at++
  return at
}

function escapeEnd(bytes: Buffer, from: number): number {
  const letter = byteAt(bytes, from)
  if (ESCAPED[letter] === 0) return -1
  if (letter !== SMALL_U) return from + 1
  for (let at = from + 1; at < from + 5; at++) if (!isHex(byteAt(bytes, at))) return -1
  return from + 5
}

function literalEnd(bytes: Buffer, from: number, literal: Buffer): number {
  for (let i = 1; i < literal.length; i++) if (byteAt(bytes, from + i) !== literal[i]) return -1
  return from + literal.length
}

function numberEnd(bytes: Buffer, from: number): number {
  let at = byteAt(bytes, from) === MINUS ? from + 1 : from
  at = byteAt(bytes, at) === ZERO ? at + 1 : digitsEnd(bytes, at)
  if (at >= 0 && byteAt(bytes, at) === POINT) at = digitsEnd(bytes, at + 1)
  if (at < 0 || (byteAt(bytes, at) | LOWER) !== SMALL_E) return at
  const sign = byteAt(bytes, at + 1)
  return digitsEnd(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1)
}

/** The index after one digit or more. */
function digitsEnd(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && isDigit(bytes[at]!)) at++
  return at === from ? -1 : at
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function isHex(byte: number): boolean {
  const lower = byte | LOWER
  return isDigit(byte) || (lower >= SMALL_A && lower <= SMALL_F)
}

const CLOSE_BRACKET = 93
const CLOSE_BRACE = 125
const LAST_SPACE = 32
const LAST_ASCII = 127

/** The end of a longer string is found with a native search. */
const SHORT_STRING = 128

/** Checks that the bytes are one JSON value and white space; null if they are not. */
export function findJsonValue(bytes: Buffer): ByteSpan | null {
  const from = skipSpace(bytes, 0)
  const to = findCheckedEnd(bytes, from, MAX_JSON_DEPTH)
  if (to < 0 || skipSpace(bytes, to) !== bytes.length || !isUtf8(bytes)) return null
  return { from, to }
}

/** Says why `findJsonValue` refused the bytes. */
export function describeInvalidJson(bytes: Buffer): string {
  const to = findCheckedEnd(bytes, skipSpace(bytes, 0), Infinity)
  const isWhole = to >= 0 && skipSpace(bytes, to) === bytes.length && isUtf8(bytes)
  return isWhole ? `nested deeper than ${MAX_JSON_DEPTH} levels` : 'not valid JSON'
}

/**
 * At most `max` members of an object whose bytes `findJsonValue` may have refused, up to its first fault. The span of a
 * faulty value is empty.
 */
export function listReadableMembers(bytes: Buffer, max: number): JsonMember[] {
  const members: JsonMember[] = []
  let at = skipSpace(bytes, 0)
  let separator = byteAt(bytes, at) === OPEN_BRACE ? COMMA : 0
  while (separator === COMMA && members.length < max) {
    at = skipSpace(bytes, at + 1)
    const from = keyEnd(bytes, at)
    if (from < 0) break
    const key = readStringBytes(bytes, at + 1, stringEnd(bytes, at + 1) - 1)
    const to = findCheckedEnd(bytes, from, Infinity)
    at = to < 0 ? bytes.length : skipSpace(bytes, to)
    separator = byteAt(bytes, at)
    // A number before the end of the bytes may have been cut.
    const isWhole = separator === COMMA || separator === CLOSE_BRACE
    members.push({ key, from, to: isWhole ? to : from })
  }
  return members
}

/** At most `max` members of the object; [] for any other value. The bytes have passed `findJsonValue`. */
export function listMembers(bytes: Buffer, { from, to }: ByteSpan, max = Infinity): JsonMember[] {
  const members: JsonMember[] = []
  if (byteAt(bytes, from) !== OPEN_BRACE) return members
  let at = skipSpace(bytes, from + 1)
  while (at < to && bytes[at] === QUOTE && members.length < max) {
    const keyEnd = skipString(bytes, at + 1)
    const key = readStringBytes(bytes, at + 1, keyEnd - 1)
    const colon = skipSpace(bytes, keyEnd)
    const value = skipSpace(bytes, colon + 1)
    const end = skipValue(bytes, value)
    members.push({ key, from: value, to: end })
    at = findNextValue(bytes, end)
  }
  return members
}

/** At most `max` items of the array; [] for any other value. The bytes have passed `findJsonValue`. */
export function listItems(bytes: Buffer, { from, to }: ByteSpan, max = Infinity): ByteSpan[] {
  const items: ByteSpan[] = []
  if (byteAt(bytes, from) !== OPEN_BRACKET) return items
  let at = skipSpace(bytes, from + 1)
  while (at < to && bytes[at] !== CLOSE_BRACKET && items.length < max) {
    const end = skipValue(bytes, at)
    items.push({ from: at, to: end })
    at = findNextValue(bytes, end)
  }
  return items
}

/** The text of a string value; undefined for any other value. */
export function readJsonString(bytes: Buffer, { from, to }: ByteSpan): string | undefined {
  return byteAt(bytes, from) === QUOTE ? readStringBytes(bytes, from + 1, to - 1) : undefined
}

/** The text between the quotes. Most strings, and all names that the gateway looks for, are short plain ASCII. */
function readStringBytes(bytes: Buffer, from: number, to: number): string {
  if (to - from > SHORT_STRING) return decodeStringBytes(bytes, from, to)
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte === BACKSLASH || byte > LAST_ASCII) return decodeStringBytes(bytes, from, to)
  }
  return bytes.latin1Slice(from, to)
}

function decodeStringBytes(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

/** From the end of a value to the next value, or to the closing byte of both. */
function findNextValue(bytes: Buffer, from: number): number {
  const at = skipSpace(bytes, from)
  return byteAt(bytes, at) === COMMA ? skipSpace(bytes, at + 1) : at
}

// The functions below read bytes that are known to be well-formed. Each returns the index after the last byte.

function skipValue(bytes: Buffer, from: number): number {
  const first = byteAt(bytes, from)
  if (first === QUOTE) return skipString(bytes, from + 1)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, from)
  let at = from + 1
  while (at < bytes.length && !isAfterScalar(bytes[at]!)) at++
  return at
}

function isAfterScalar(byte: number): boolean {
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

/** `from` is after the opening quote. */
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

/** A quote ends the string unless an odd number of backslashes precedes it. */
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
