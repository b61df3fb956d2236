// Follows a JSON object while its bytes pass, cut anywhere, and tells where the members of the outermost object lie. Nothing
// is held but the values its owner asks for, so that a body of any size can be looked at on its way.
//
// Use: `new Peek(owner)`, `write` for every piece, `end` behind the last. From within these calls the owner hears
//   begin(name, from)   at every member of the root, when its value begins; it says how much of the value to keep
//   member(found)       when the value of a member that it was interested in is complete
//   closed(at)          at the brace that closes the root; only white space may follow
//   fault(what, at)     when the bytes are no JSON object: once, and nothing comes after it
// Offsets count from the first byte ever written. What is JSON is RFC 8259 to the letter, except that a byte order mark in
// front is tolerated and malformed UTF-8 not seen. A member that the owner is interested in and that comes twice is a
// fault, for two readers could see two values.

import { RootMembers } from './json-members.ts'
import type { RootMembersOwner } from './json-members.ts'
import { MAX_JSON_DEPTH } from './json-scan.ts'

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
function dataViewOf(bytes: Buffer): DataView {
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
function findPlainEnd(bytes: Buffer, view: DataView, from: number, to: number): number {
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
type NumberPart = 'minus' | 'zero' | 'digits' | 'point' | 'decimals' | 'e' | 'sign' | 'exponent'

/** Where a number may stop. */
const COMPLETE_NUMBER_PARTS: ReadonlySet<NumberPart> = new Set([
  'zero',
  'digits',
  'decimals',
  'exponent',
])

/** The first byte of a number, or null if it is none. */
function startNumber(byte: number): NumberPart | null {
  if (byte === MINUS) return 'minus'
  if (byte === ZERO) return 'zero'
  return isDigit(byte) ? 'digits' : null
}

/** One byte further; null for a byte that does not belong to the number. */
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

/** Who peeks; called from within `write` and `end`. */
export interface JsonPeekOwner extends RootMembersOwner {
  closed(at: number): void
  /** `what` goes behind "it has": `a control byte in a string`. */
  fault(what: string, at: number): void
}

type PeekState =
  | 'start'
  | 'firstName'
  | 'name'
  | 'colon'
  | 'value'
  | 'firstItem'
  | 'behind'
  | 'text'
  | 'escape'
  | 'hex'
  | 'number'
  | 'word'
  | 'over'
  | 'broken'
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const SMALL_U = 117
const OPEN_BRACE = 123
/** From the byte that opens an array or an object to the one that closes it. */
const CLOSE = 2
const CLOSE_BRACKET = OPEN_BRACKET + CLOSE
const CLOSE_BRACE = OPEN_BRACE + CLOSE
const HEX_DIGITS = 4
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const NOTHING = Buffer.alloc(0)
const NO_VIEW = new DataView(NOTHING.buffer)

const SPACE = byteSetOf(' \t\r\n')
const ESCAPED = byteSetOf('"\\/bfnrt')
const HEX = byteSetOf('0123456789abcdefABCDEF')
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]))

function byteSetOf(letters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const letter of letters) table[letter.charCodeAt(0)] = 1
  return table
}

export class JsonPeek {
  readonly #owner: JsonPeekOwner
  readonly #members: RootMembers
  #state: PeekState = 'start'
  /** Bytes of the mark at the start that were seen. */
  #marks = 0
  /** What closes each of the values we are in. */
  readonly #closing: number[] = []
  /** What the string is in which we are. */
  #string: 'name' | 'key' | 'value' = 'value'
  #hexLeft = 0
  #part: NumberPart = 'zero'
  #word = ''
  #letters = 0
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

  /** Whether the root has a member, as far as it was read. */
  get hasMembers(): boolean {
    return this.#root === 'filled'
  }

  /** The root is closed, and nothing but white space came behind it. */
  get isOver(): boolean {
    return this.#state === 'over'
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

  /** Nothing more comes. */
  end(): void {
    if (this.#state === 'over' || this.#state === 'broken') return
    this.#at = this.#to
    this.#state = this.#fault(this.#state === 'start' ? 'nothing in it' : 'no end')
  }

  /** `this[state]()`, but three times as fast where tokens are short: V8 looks a method up anew at each turn. */
  #step(state: PeekState): PeekState {
    switch (state) {
      case 'text':
        return this.#text()
      case 'behind':
        return this.#behind()
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
      case 'word':
        return this.#letter()
      case 'escape':
        return this.#escape()
      case 'hex':
        return this.#hex()
      case 'start':
        return this.#start()
      case 'over':
        return this.#behindAll()
      case 'broken':
        throw new Error('what is no JSON takes no bytes')
    }
  }

  #start(): 'start' | 'firstName' | 'broken' {
    const byte = this.#bytes[this.#at]!
    const marks = this.#marks
    if (this.#base + this.#at === marks && byte === BYTE_ORDER_MARK[marks]) {
      this.#at++
      this.#marks++
      return 'start'
    }
    const isCut = marks > 0 && marks < BYTE_ORDER_MARK.length
    if (!isCut && SPACE[byte] === 1) return this.#spaces('start')
    if (isCut || byte !== OPEN_BRACE) return this.#fault('no object at its root')
    this.#at++
    this.#closing.push(CLOSE_BRACE)
    return 'firstName'
  }

  #firstName(): 'firstName' | 'name' | 'text' | 'behind' | 'over' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#spaces('firstName')
    return byte === CLOSE_BRACE ? this.#close() : this.#nextName()
  }

  #nextName(): 'name' | 'text' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#spaces('name')
    if (byte !== QUOTE) return this.#fault('no name where one belongs')
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
    if (SPACE[byte] === 1) return this.#spaces('colon')
    if (byte !== COLON) return this.#fault('no colon behind a name')
    this.#at++
    return 'value'
  }

  #value(): PeekState {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#spaces('value')
    if (this.#closing.length === 1) {
      const twin = this.#members.startValue(this.#at, this.#base + this.#at)
      if (twin !== '') return this.#fault(`'${twin}' twice`)
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
    const word = WORDS.get(byte)
    if (word === undefined) return this.#fault('no value where one belongs')
    this.#word = word
    this.#letters = 0
    return 'word'
  }

  #firstItem(): PeekState {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#spaces('firstItem')
    return byte === CLOSE_BRACKET ? this.#close() : this.#value()
  }

  /** Behind a value that something encloses. */
  #behind(): 'behind' | 'name' | 'value' | 'over' | 'broken' {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#spaces('behind')
    const closing = this.#closing[this.#closing.length - 1]
    if (byte === closing) return this.#close()
    if (byte !== COMMA) return this.#fault('no comma behind a value')
    this.#at++
    return closing === CLOSE_BRACE ? 'name' : 'value'
  }

  #text(): 'text' | 'escape' | 'colon' | 'behind' | 'broken' {
    const bytes = this.#bytes
    const to = this.#to
    let at = findPlainEnd(bytes, this.#view, this.#at, to)
    // Escapes of two bytes, by far the most, are passed here unless they are cut.
    while (at + 1 < to && bytes[at] === BACKSLASH && ESCAPED[bytes[at + 1]!] === 1)
      at = findPlainEnd(bytes, this.#view, at + 2, to)
    this.#at = at
    if (at === to) return 'text'
    const byte = bytes[at]!
    if (byte !== QUOTE && byte !== BACKSLASH) return this.#fault('a control byte in a string')
    this.#at++
    if (byte === BACKSLASH) return 'escape'
    if (this.#string === 'value') return this.#valueOver()
    if (this.#string === 'name') this.#members.endName(bytes, at)
    return 'colon'
  }

  #escape(): 'text' | 'hex' | 'broken' {
    const letter = this.#bytes[this.#at]!
    this.#hexLeft = HEX_DIGITS
    if (letter !== SMALL_U && ESCAPED[letter] === 0) return this.#fault('a bad escape in a string')
    this.#at++
    return letter === SMALL_U ? 'hex' : 'text'
  }

  #hex(): 'text' | 'hex' | 'broken' {
    if (HEX[this.#bytes[this.#at]!] === 0) return this.#fault('a bad escape in a string')
    this.#at++
    return --this.#hexLeft === 0 ? 'text' : 'hex'
  }

  #number(): 'number' | 'behind' | 'broken' {
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
    return COMPLETE_NUMBER_PARTS.has(part) ? this.#valueOver() : this.#fault('a bad number')
  }

  #letter(): 'word' | 'behind' | 'broken' {
    if (this.#bytes[this.#at] !== this.#word.charCodeAt(this.#letters))
      return this.#fault('no value where one belongs')
    this.#at++
    return ++this.#letters === this.#word.length ? this.#valueOver() : 'word'
  }

  #behindAll(): 'over' | 'broken' {
    if (SPACE[this.#bytes[this.#at]!] === 1) return this.#spaces('over')
    return this.#fault('something behind its end')
  }

  #spaces<Next extends PeekState>(next: Next): Next {
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

  /** At the byte that ends an array or an object. */
  #close(): 'behind' | 'over' {
    this.#at++
    this.#closing.pop()
    if (this.#closing.length > 0) return this.#valueOver()
    this.#owner.closed(this.#base + this.#at - 1)
    return 'over'
  }

  #valueOver(): 'behind' {
    if (this.#closing.length === 1)
      this.#members.endValue(this.#bytes, this.#at, this.#base + this.#at)
    return 'behind'
  }

  #fault(what: string): 'broken' {
    this.#members.discard()
    this.#owner.fault(what, this.#base + this.#at)
    return 'broken'
  }
}
