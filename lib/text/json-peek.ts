// Follows a JSON object while its bytes pass in chunks of any size, and reports where the members of the outermost object
// are. It copies only the values that its owner asks for, so a body of any size can be read while it is forwarded.
//
// Use: `new JsonPeek(owner)`, `write` for every chunk, `end` after the last. During these calls the owner receives
//   begin(name, from)   at every member of the root, when its value begins; it returns how much of the value to copy
//   member(found)       when the value of a member of interest is complete
//   closed(at)          at the brace that closes the root; only white space may follow
//   fault(what, at)     when the bytes are not a JSON object: once, and no call follows it
// Offsets count from the first byte written. JSON is RFC 8259 exactly, except that a leading byte order mark is accepted
// and malformed UTF-8 is not detected. A duplicate member of interest is a fault, since two readers could see two values.

import { RootMembers } from './json-members.ts'
import type { RootMembersOwner } from './json-members.ts'
import { byteTableOf, MAX_JSON_DEPTH } from './json-scan.ts'

// V8 loads an imported constant again at each use, and these are used for every byte: they stay in this file.
const QUOTE = 34
const PLUS = 43
const MINUS = 45
const POINT = 46
const ZERO = 48
const NINE = 57
const BACKSLASH = 92
const SMALL_E = 101
/** The bit that makes a letter lower case. */
const LOWER = 32

const ONES = 0x01010101
const SPACES = 32 * ONES
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = 0x80808080

/** Bytes that end a plain run in a string: control bytes, the quote and the backslash. */
const SPECIAL = new Uint8Array(256)
SPECIAL.fill(1, 0, 32)
SPECIAL[QUOTE] = 1
SPECIAL[BACKSLASH] = 1

/** Longer buffers are not kept alive for their view. */
const MAX_KEPT_BYTES = 65_536

/** The latest view. Most bytes are in the one read buffer of the sockets, and a view costs more than a token. */
let lastBytes: Buffer = Buffer.alloc(0)
let lastView: DataView = new DataView(lastBytes.buffer)

function dataViewOf(bytes: Buffer): DataView {
  if (bytes === lastBytes) return lastView
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (bytes.length > MAX_KEPT_BYTES) return view
  lastBytes = bytes
  lastView = view
  return view
}

/**
 * Finds the end of plain bytes in a string, eight at a time. Subtracting 32 sets the high bit of a byte below 32;
 * subtracting 1 sets that of a zero byte, which the XOR makes of a quote. `view` is on `bytes`.
 */
function findPlainEnd(bytes: Buffer, view: DataView, from: number, to: number): number {
  const last = to - 8
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
  while (at < to && SPECIAL[bytes[at]!] === 0) at++
  return at
}

/** The part of a number that was read last. */
type NumberPart = 'minus' | 'zero' | 'digits' | 'point' | 'decimals' | 'e' | 'sign' | 'exponent'

/** The parts at which a number may end. */
const COMPLETE_NUMBER_PARTS: ReadonlySet<NumberPart> = new Set([
  'zero',
  'digits',
  'decimals',
  'exponent',
])

/** The part that a first byte starts, or null if it starts no number. */
function startNumber(byte: number): NumberPart | null {
  if (byte === MINUS) return 'minus'
  if (byte === ZERO) return 'zero'
  return isDigit(byte) ? 'digits' : null
}

/** The part after one more byte; null if the byte does not belong to the number. */
function nextNumberPart(part: NumberPart, byte: number): NumberPart | null {
  switch (part) {
    case 'digits':
      return isDigit(byte) ? 'digits' : partAfterDigits(byte, 'point')
    case 'minus':
      return byte === MINUS ? null : startNumber(byte)
    case 'zero':
      return partAfterDigits(byte, 'point')
    case 'point':
      return isDigit(byte) ? 'decimals' : null
    case 'decimals':
      return isDigit(byte) ? 'decimals' : partAfterDigits(byte, null)
    case 'e':
      if (byte === PLUS || byte === MINUS) return 'sign'
      return isDigit(byte) ? 'exponent' : null
    case 'sign':
    case 'exponent':
      return isDigit(byte) ? 'exponent' : null
  }
}

function partAfterDigits(byte: number, atPoint: 'point' | null): NumberPart | null {
  if (byte === POINT) return atPoint
  return (byte | LOWER) === SMALL_E ? 'e' : null
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

/** The owner is called during `write` and `end`. */
export interface JsonPeekOwner extends RootMembersOwner {
  closed(at: number): void
  /** `what` is a phrase such as `control character in a string`. */
  fault(what: string, at: number): void
}

type PeekState =
  | 'start'
  | 'firstName'
  | 'name'
  | 'colon'
  | 'value'
  | 'firstItem'
  | 'afterValue'
  | 'text'
  | 'escape'
  | 'hex'
  | 'number'
  | 'literal'
  | 'done'
  | 'broken'

const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const SMALL_U = 117
const OPEN_BRACE = 123
/** The distance from an opening bracket or brace to its closing one. */
const CLOSE = 2
const CLOSE_BRACKET = OPEN_BRACKET + CLOSE
const CLOSE_BRACE = OPEN_BRACE + CLOSE
const HEX_DIGITS = 4
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const NOTHING = Buffer.alloc(0)
const NO_VIEW = new DataView(NOTHING.buffer)

const SPACE = byteTableOf(' \t\r\n')
const ESCAPED = byteTableOf('"\\/bfnrt')
const HEX = byteTableOf('0123456789abcdefABCDEF')
const LITERALS = new Map(
  ['true', 'false', 'null'].map((literal) => [literal.charCodeAt(0), literal]),
)

export class JsonPeek {
  readonly #owner: JsonPeekOwner
  readonly #members: RootMembers
  #state: PeekState = 'start'
  /** Bytes of the byte order mark that were read. */
  #markBytes = 0
  /** The closing bytes of the values that are open. */
  readonly #closing: number[] = []
  /** The kind of the current string. */
  #string: 'name' | 'key' | 'value' = 'value'
  #hexLeft = 0
  #part: NumberPart = 'zero'
  #literal = ''
  #literalLength = 0
  #root: 'empty' | 'filled' = 'empty'
  #bytes: Buffer = NOTHING
  #view: DataView = NO_VIEW
  #at = 0
  #to = 0
  /** Offset of the first byte of `#bytes`. */
  #base = 0

  constructor(owner: JsonPeekOwner) {
    this.#owner = owner
    this.#members = new RootMembers(owner)
  }

  /** Whether the root has a member so far. */
  get hasMembers(): boolean {
    return this.#root === 'filled'
  }

  /** The root is closed, and only white space followed it. */
  get isOver(): boolean {
    return this.#state === 'done'
  }

  /** The bytes are read before this returns, and not kept. */
  write(bytes: Buffer, from: number, to: number): void {
    if (this.#state === 'broken') return
    this.#base += this.#to - from
    this.#bytes = bytes
    this.#view = dataViewOf(bytes)
    this.#at = from
    this.#to = to
    this.#members.continueAt(from)
    let state: PeekState = this.#state
    while (this.#at < to && state !== 'broken') state = this.#step(state)
    this.#state = state
    this.#members.endPiece(bytes, to)
    this.#bytes = NOTHING
  }

  /** No more bytes follow. */
  end(): void {
    if (this.#state === 'done' || this.#state === 'broken') return
    this.#at = this.#to
    this.#state = this.#fault(
      this.#state === 'start' ? 'the body is empty' : 'the body ends inside the JSON object',
    )
  }

  /** The same as `this[state]()`, but three times as fast for short tokens: V8 looks up the method each time. */
  #step(state: PeekState): PeekState {
    switch (state) {
      case 'text':
        return this.#text()
      case 'afterValue':
        return this.#afterValue()
      case 'name':
        return this.#nextName()
      case 'colon':
        return this.#colon()
      case 'value':
        return this.#value()
      case 'number':
        return this.#number()
      case 'firstName':
        return this.#firstName()
      case 'firstItem':
        return this.#firstItem()
      case 'literal':
        return this.#readLiteral()
      case 'escape':
        return this.#escape()
      case 'hex':
        return this.#hex()
      case 'start':
        return this.#start()
      case 'done':
        return this.#afterRoot()
      case 'broken':
        throw new Error('bytes after a JSON fault')
    }
  }

  #start(): 'start' | 'firstName' | 'broken' {
    const byte = this.#bytes[this.#at]!
    const markBytes = this.#markBytes
    if (this.#base + this.#at === markBytes && byte === BYTE_ORDER_MARK[markBytes]) {
      this.#at++
      this.#markBytes++
      return 'start'
    }
    const isCut = markBytes > 0 && markBytes < BYTE_ORDER_MARK.length
    if (!isCut && SPACE[byte] === 1) return this.#skipSpaces('start')
    if (isCut || byte !== OPEN_BRACE) return this.#fault('expected a JSON object')
    this.#at++
    this.#closing.push(CLOSE_BRACE)
    return 'firstName'
  }

  #firstName(): 'firstName' | 'name' | 'text' | 'afterValue' | 'done' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#skipSpaces('firstName')
    return byte === CLOSE_BRACE ? this.#close() : this.#nextName()
  }

  #nextName(): 'name' | 'text' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#skipSpaces('name')
    if (byte !== QUOTE) return this.#fault('expected a member name')
    this.#at++
    this.#string = 'key'
    if (this.#closing.length === 1) {
      this.#string = 'name'
      this.#root = 'filled'
      this.#members.startName(this.#at)
    }
    return 'text'
  }

  #colon(): 'colon' | 'value' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#skipSpaces('colon')
    if (byte !== COLON) return this.#fault('expected a colon after a name')
    this.#at++
    return 'value'
  }

  #value(): PeekState {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#skipSpaces('value')
    if (this.#closing.length === 1) {
      const duplicate = this.#members.startValue(this.#at, this.#base + this.#at)
      if (duplicate !== '') return this.#fault(`'${duplicate}' appears twice`)
    }
    if (byte === QUOTE) {
      this.#at++
      this.#string = 'value'
      return 'text'
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#open(byte)
    const part = startNumber(byte)
    if (part !== null) {
      this.#at++
      this.#part = part
      return 'number'
    }
    const literal = LITERALS.get(byte)
    if (literal === undefined) return this.#fault('expected a value')
    this.#literal = literal
    this.#literalLength = 0
    return 'literal'
  }

  #firstItem(): PeekState {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#skipSpaces('firstItem')
    return byte === CLOSE_BRACKET ? this.#close() : this.#value()
  }

  /** After a value in an array or an object. */
  #afterValue(): 'afterValue' | 'name' | 'value' | 'done' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#skipSpaces('afterValue')
    const closing = this.#closing[this.#closing.length - 1]
    if (byte === closing) return this.#close()
    if (byte !== COMMA) return this.#fault('expected a comma after a value')
    this.#at++
    return closing === CLOSE_BRACE ? 'name' : 'value'
  }

  #text(): 'text' | 'escape' | 'colon' | 'afterValue' | 'broken' {
    const bytes = this.#bytes
    const to = this.#to
    let at = findPlainEnd(bytes, this.#view, this.#at, to)
    // Escapes of two bytes, by far the most frequent, are skipped here unless they are split.
    while (at + 1 < to && bytes[at] === BACKSLASH && ESCAPED[bytes[at + 1]!] === 1)
      at = findPlainEnd(bytes, this.#view, at + 2, to)
    this.#at = at
    if (at === to) return 'text'
    const byte = bytes[at]!
    if (byte !== QUOTE && byte !== BACKSLASH) return this.#fault('control character in a string')
    this.#at++
    if (byte === BACKSLASH) return 'escape'
    if (this.#string === 'value') return this.#endValue()
    if (this.#string === 'name') this.#members.endName(bytes, at)
    return 'colon'
  }

  #escape(): 'text' | 'hex' | 'broken' {
    const escaped = this.#bytes[this.#at]!
    this.#hexLeft = HEX_DIGITS
    if (escaped !== SMALL_U && ESCAPED[escaped] === 0)
      return this.#fault('invalid escape in a string')
    this.#at++
    return escaped === SMALL_U ? 'hex' : 'text'
  }

  #hex(): 'text' | 'hex' | 'broken' {
    if (HEX[this.#bytes[this.#at]!] === 0) return this.#fault('invalid escape in a string')
    this.#at++
    return --this.#hexLeft === 0 ? 'text' : 'hex'
  }

  #number(): 'number' | 'afterValue' | 'broken' {
    const bytes = this.#bytes
    const to = this.#to
    let at = this.#at
    let part: NumberPart = this.#part
    let next: NumberPart | null = part
    while (at < to && (next = nextNumberPart(part, bytes[at]!)) !== null) {
      part = next
      at++
    }
    this.#at = at
    this.#part = part
    if (next !== null) return 'number'
    return COMPLETE_NUMBER_PARTS.has(part) ? this.#endValue() : this.#fault('invalid number')
  }

  #readLiteral(): 'literal' | 'afterValue' | 'broken' {
    if (this.#bytes[this.#at] !== this.#literal.charCodeAt(this.#literalLength))
      return this.#fault('expected a value')
    this.#at++
    return ++this.#literalLength === this.#literal.length ? this.#endValue() : 'literal'
  }

  #afterRoot(): 'done' | 'broken' {
    if (SPACE[this.#bytes[this.#at]!] === 1) return this.#skipSpaces('done')
    return this.#fault('content after the end of the object')
  }

  #skipSpaces<Next extends PeekState>(next: Next): Next {
    do this.#at++
    while (this.#at < this.#to && SPACE[this.#bytes[this.#at]!] === 1)
    return next
  }

  #open(byte: number): 'firstName' | 'firstItem' | 'broken' {
    if (this.#closing.length === MAX_JSON_DEPTH)
      return this.#fault(`values nested deeper than ${MAX_JSON_DEPTH}`)
    this.#at++
    this.#closing.push(byte + CLOSE)
    return byte === OPEN_BRACE ? 'firstName' : 'firstItem'
  }

  /** At the byte that closes an array or an object. */
  #close(): 'afterValue' | 'done' {
    this.#at++
    this.#closing.pop()
    if (this.#closing.length > 0) return this.#endValue()
    this.#owner.closed(this.#base + this.#at - 1)
    return 'done'
  }

  #endValue(): 'afterValue' {
    if (this.#closing.length === 1)
      this.#members.endValue(this.#bytes, this.#at, this.#base + this.#at)
    return 'afterValue'
  }

  #fault(what: string): 'broken' {
    this.#members.discard()
    this.#owner.fault(what, this.#base + this.#at)
    return 'broken'
  }
}
