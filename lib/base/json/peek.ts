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

import { WHOLE_NUMBER, nextPart, numberFrom, plainEnd, viewOf } from './lexemes.ts'
import type { NumberPart } from './lexemes.ts'
import { RootMembers } from './root-members.ts'
import type { MembersOwner } from './root-members.ts'
import { MAX_JSON_DEPTH } from './scan.ts'

/** Who peeks; called from within `write` and `end`. */
export interface PeekOwner extends MembersOwner {
  closed(at: number): void
  /** `what` goes behind "it has": `a control byte in a string`. */
  fault(what: string, at: number): void
}

type State =
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

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
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

const SPACE = tableOf(' \t\r\n')
const ESCAPED = tableOf('"\\/bfnrt')
const HEX = tableOf('0123456789abcdefABCDEF')
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]))

function tableOf(letters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const letter of letters) table[letter.charCodeAt(0)] = 1
  return table
}

export class Peek {
  readonly #owner: PeekOwner
  readonly #members: RootMembers
  #state: State = 'start'
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

  constructor(owner: PeekOwner) {
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
    this.#view = viewOf(bytes)
    this.#at = from
    this.#to = to
    this.#members.goOn(from)
    let state: State = this.#state
    while (this.#at < to && state !== 'broken') state = this.#step(state)
    this.#state = state
    this.#members.pieceOver(bytes, to)
    this.#bytes = NOTHING
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#state === 'over' || this.#state === 'broken') return
    this.#at = this.#to
    this.#state = this.#fault(this.#state === 'start' ? 'nothing in it' : 'no end')
  }

  /** `this[state]()`, but three times as fast where tokens are short: V8 looks a method up anew at each turn. */
  #step(state: State): State {
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
      this.#members.nameBegins(this.#at)
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

  #value(): State {
    const byte = this.#bytes[this.#at]!
    if (SPACE[byte] === 1) return this.#spaces('value')
    if (this.#closing.length === 1) {
      const twin = this.#members.valueBegins(this.#at, this.#base + this.#at)
      if (twin !== '') return this.#fault(`'${twin}' twice`)
    }
    if (byte === QUOTE) {
      this.#at++
      this.#string = 'value'
      return 'text'
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#open(byte)
    const part = numberFrom(byte)
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

  #firstItem(): State {
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
    let at = plainEnd(bytes, this.#view, this.#at, to)
    // Escapes of two bytes, by far the most, are passed here unless they are cut.
    while (at + 1 < to && bytes[at] === BACKSLASH && ESCAPED[bytes[at + 1]!] === 1)
      at = plainEnd(bytes, this.#view, at + 2, to)
    this.#at = at
    if (at === to) return 'text'
    const byte = bytes[at]!
    if (byte !== QUOTE && byte !== BACKSLASH) return this.#fault('a control byte in a string')
    this.#at++
    if (byte === BACKSLASH) return 'escape'
    if (this.#string === 'value') return this.#valueOver()
    if (this.#string === 'name') this.#members.nameOver(bytes, at)
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
    while (at < to && (next = nextPart(part, bytes[at]!)) !== null) {
      part = next
      at++
    }
    this.#at = at
    this.#part = part
    if (next !== null) return 'number'
    return WHOLE_NUMBER.has(part) ? this.#valueOver() : this.#fault('a bad number')
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

  #spaces<Next extends State>(next: Next): Next {
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
      this.#members.valueOver(this.#bytes, this.#at, this.#base + this.#at)
    return 'behind'
  }

  #fault(what: string): 'broken' {
    this.#members.drop()
    this.#owner.fault(what, this.#base + this.#at)
    return 'broken'
  }
}
