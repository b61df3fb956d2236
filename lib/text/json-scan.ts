// JSON read in place: one checking pass over the bytes, and spans of what was found, so that a message can be
// looked at and edited without being parsed and written anew.

import { isUtf8 } from 'node:buffer'

// The grammar of RFC 8259 over bytes, in one pass and without recursion. Each function goes from the first byte of
// something to behind its last, or says -1. What lies behind the end reads as NUL, which no value holds.
// Constants stay in this file: V8 loads an imported one anew at each use, and these are used for every byte.

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
/** From the byte that opens an array or an object to the one that closes it. */
const CLOSE = 2
/** The bit that makes a letter small. */
const LOWER = 32

const SPACE = byteTableOf(' \t\r\n')
/** Bytes that do not stand for themselves in a string. */
const SPECIAL = byteTableOf('"\\')
SPECIAL.fill(1, 0, 32)
const ESCAPED = byteTableOf('"\\/bfnrtu')

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/** Longer runs in a string are worth a view that reads words. */
const SHORT_RUN = 128
const ONES = 0x01010101
const SPACES = 32 * ONES
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = 0x80808080

function byteTableOf(letters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const letter of letters) table[letter.charCodeAt(0)] = 1
  return table
}

/** Behind the value that begins there, or -1: it is not well-formed, or nested deeper than that. */
function findCheckedEnd(bytes: Buffer, from: number, maxDepth: number): number {
  /** What closes each of the values we are in. */
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
    // Behind a value, or at the end of an empty one: close what ends here, up to a comma.
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

/** Behind a key and its colon, where the value begins. */
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
      return wordEnd(bytes, from, TRUE)
    case FALSE[0]:
      return wordEnd(bytes, from, FALSE)
    case NULL[0]:
      return wordEnd(bytes, from, NULL)
    default:
      return numberEnd(bytes, from)
  }
}

/** Behind the quote that ends the string whose text begins there. */
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
 * Behind the bytes that stand for themselves in a string, eight at a time. Less 32, a byte below 32 borrows its high
 * bit; less 1, so does a byte that is zero, as the quote is once it was compared (^) with quotes.
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
    // Bytes that have a high bit of their own are letters of UTF-8.
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

function wordEnd(bytes: Buffer, from: number, word: Buffer): number {
  for (let i = 1; i < word.length; i++) if (byteAt(bytes, from + i) !== word[i]) return -1
  return from + word.length
}

function numberEnd(bytes: Buffer, from: number): number {
  let at = byteAt(bytes, from) === MINUS ? from + 1 : from
  at = byteAt(bytes, at) === ZERO ? at + 1 : digitsEnd(bytes, at)
  if (at >= 0 && byteAt(bytes, at) === POINT) at = digitsEnd(bytes, at + 1)
  if (at < 0 || (byteAt(bytes, at) | LOWER) !== SMALL_E) return at
  const sign = byteAt(bytes, at + 1)
  return digitsEnd(bytes, sign === MINUS || sign === PLUS ? at + 2 : at + 1)
}

/** Behind one digit or more. */
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

/** A value's bytes: from its first to behind its last. */
export interface ByteSpan {
  readonly from: number
  readonly to: number
}

/** A member of an object: its key, decoded, and its value's bytes. */
export interface JsonMember extends ByteSpan {
  readonly key: string
}

/** How deep values may be nested. */
export const MAX_JSON_DEPTH = 512
const CLOSE_BRACKET = 93
const CLOSE_BRACE = 125
const LAST_SPACE = 32
const LAST_ASCII = 127

/** Longer strings are worth a native search for their end. */
const SHORT_STRING = 128

/** Checks that the bytes are one JSON value and nothing else but white space; null if they are not. */
export function findJsonValue(bytes: Buffer): ByteSpan | null {
  const from = skipSpace(bytes, 0)
  const to = findCheckedEnd(bytes, from, MAX_JSON_DEPTH)
  if (to < 0 || skipSpace(bytes, to) !== bytes.length || !isUtf8(bytes)) return null
  return { from, to }
}

/** The members of the object there, no more than `most`, [] for any other value; the bytes have passed `valueOf`. */
export function listMembers(bytes: Buffer, { from, to }: ByteSpan, most = Infinity): JsonMember[] {
  const members: JsonMember[] = []
  if (byteAt(bytes, from) !== OPEN_BRACE) return members
  let at = skipSpace(bytes, from + 1)
  while (at < to && bytes[at] === QUOTE && members.length < most) {
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

/** The items of the array there, no more than `most`, [] for any other value; the bytes have passed `valueOf`. */
export function listItems(bytes: Buffer, { from, to }: ByteSpan, most = Infinity): ByteSpan[] {
  const items: ByteSpan[] = []
  if (byteAt(bytes, from) !== OPEN_BRACKET) return items
  let at = skipSpace(bytes, from + 1)
  while (at < to && bytes[at] !== CLOSE_BRACKET && items.length < most) {
    const end = skipValue(bytes, at)
    items.push({ from: at, to: end })
    at = findNextValue(bytes, end)
  }
  return items
}

/** The text of the string there, or undefined for any other value. */
export function readJsonString(bytes: Buffer, { from, to }: ByteSpan): string | undefined {
  return byteAt(bytes, from) === QUOTE ? readStringBytes(bytes, from + 1, to - 1) : undefined
}

/** What lies between the quotes. Most texts, and all of the names we look for, are plain ASCII and short. */
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

/** From behind a value to the next one, or to what closes both. */
function findNextValue(bytes: Buffer, from: number): number {
  const at = skipSpace(bytes, from)
  return byteAt(bytes, at) === COMMA ? skipSpace(bytes, at + 1) : at
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
