// What lies between two structural bytes of JSON, for readers whose input may stop anywhere: runs of text in strings, and
// numbers. Constants stay in this file, as in check.ts.

const QUOTE = 34
const PLUS = 43
const MINUS = 45
const POINT = 46
const ZERO = 48
const NINE = 57
const BACKSLASH = 92
const SMALL_E = 101
/** The bit that makes a letter small. */
const LOWER = 32

const ONES = 0x01010101
const SPACES = 32 * ONES
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = 0x80808080

/** Bytes that do not stand for themselves in a string. */
const SPECIAL = new Uint8Array(256)
SPECIAL.fill(1, 0, 32)
SPECIAL[QUOTE] = 1
SPECIAL[BACKSLASH] = 1

/** Nothing longer than a read is kept alive for its view. */
const MAX_KEPT_BYTES = 65_536

/** The view made last. Most bytes lie in the one buffer that sockets are read into, and a view costs more than a token. */
let lastBytes: Buffer = Buffer.alloc(0)
let lastView: DataView = new DataView(lastBytes.buffer)

/** A view on all of it, for `plainEnd`. */
export function viewOf(bytes: Buffer): DataView {
  if (bytes === lastBytes) return lastView
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length > MAX_KEPT_BYTES) return view
  lastBytes = bytes
  lastView = view
  return view
}

/**
 * Behind the bytes that stand for themselves in a string, eight at a time. Less 32, a byte below 32 borrows its high
 * bit; less 1, so does a byte that is zero, as the quote is once it was compared (^) with quotes. `view` is on `bytes`.
 */
export function plainEnd(bytes: Buffer, view: DataView, from: number, to: number): number {
  const last = to - 8
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
  while (at < to && SPECIAL[bytes[at]!] === 0) at++
  return at
}

/** How far a number has come. */
export type NumberPart =
  'minus' | 'zero' | 'digits' | 'point' | 'decimals' | 'e' | 'sign' | 'exponent'

/** Where a number may stop. */
export const WHOLE_NUMBER: ReadonlySet<NumberPart> = new Set([
  'zero',
  'digits',
  'decimals',
  'exponent',
])

/** The first byte of a number, or null if it is none. */
export function numberFrom(byte: number): NumberPart | null {
  if (byte === MINUS) return 'minus'
  if (byte === ZERO) return 'zero'
  return isDigit(byte) ? 'digits' : null
}

/** One byte further; null for a byte that does not belong to the number. */
export function nextPart(part: NumberPart, byte: number): NumberPart | null {
  switch (part) {
    case 'digits':
      return isDigit(byte) ? 'digits' : behindDigits(byte, 'point')
    case 'minus':
      return byte === MINUS ? null : numberFrom(byte)
    case 'zero':
      return behindDigits(byte, 'point')
    case 'point':
      return isDigit(byte) ? 'decimals' : null
    case 'decimals':
      return isDigit(byte) ? 'decimals' : behindDigits(byte, null)
    case 'e':
      if (byte === PLUS || byte === MINUS) return 'sign'
      return isDigit(byte) ? 'exponent' : null
    case 'sign':
    case 'exponent':
      return isDigit(byte) ? 'exponent' : null
  }
}

function behindDigits(byte: number, atPoint: 'point' | null): NumberPart | null {
  if (byte === POINT) return atPoint
  return (byte | LOWER) === SMALL_E ? 'e' : null
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}
