// Finds the events in a text/event-stream, by the letter of the WHATWG's HTML standard, wherever its bytes are cut.

import { ByteBuffer } from './byte-buffer.ts'

/** Who reads the stream; called from within `write`. */
export interface EventReaderOwner {
  /** The name is '' when none was sent, the id that of the last event that had one. The data is the owner's to keep. */
  event(name: string, data: Buffer, id: string | null): void
  /** How long the sender wants to be left alone before the stream is opened again. */
  retry(ms: number): void
  /** The data of an event, or another field, is above the bound. Nothing comes after this, or not that event. */
  tooLong(name: string): void
}

/** What follows an event above the bound: nothing at all, or the events behind it. */
export type OverlongEventMode = 'stop' | 'skip'

type EventReaderState =
  'start' | 'line' | 'lf' | 'field' | 'space' | 'value' | 'end' | 'ignored' | 'over'

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const NEWLINE = Buffer.from('\n')
const DIGITS = /^[0-9]+$/

/** A name as one number, as it is compared at every line. It begins with 1, so that a NUL in front counts. */
const FIRST_CODE = 1

function fieldNameCodeOf(name: string): number {
  return Buffer.from(name).reduce(nextCode, FIRST_CODE)
}

function nextCode(code: number, byte: number): number {
  return code * 256 + byte
}

const DATA = fieldNameCodeOf('data')
const EVENT = fieldNameCodeOf('event')
const ID = fieldNameCodeOf('id')
const RETRY = fieldNameCodeOf('retry')
/** Above the code of any name of five letters, the most a known one has. */
const LAST_CODE = 2 * 256 ** 5

export class EventReader {
  readonly #owner: EventReaderOwner
  readonly #maxBytes: number
  readonly #overlong: OverlongEventMode
  #state: EventReaderState = 'start'
  /** Bytes of the mark at the start that were seen. */
  #marks = 0
  /** Name of the field we are in. */
  #code = FIRST_CODE
  /** Of the event so far: how many fields of data, what they hold, and its name. */
  #lines = 0
  readonly #data = new ByteBuffer()
  #name = ''
  #event: 'whole' | 'skipped' = 'whole'
  /** What a field other than data holds. */
  readonly #value = new ByteBuffer()
  #id: string | null = null
  #bytes!: Buffer
  #at = 0
  #to = 0

  /** `maxBytes` bounds the data of one event, and each other field. */
  constructor(owner: EventReaderOwner, maxBytes: number, overlong: OverlongEventMode = 'stop') {
    this.#owner = owner
    this.#maxBytes = maxBytes
    this.#overlong = overlong
  }

  /** Between two events: who knows that whole ones follow need not write them. */
  get isBetweenEvents(): boolean {
    const isAtLine = this.#state === 'line' || this.#state === 'lf'
    return isAtLine && this.#lines === 0 && this.#name === '' && this.#event === 'whole'
  }

  /** The bytes are read before this returns, and not kept. */
  write(bytes: Buffer, from: number, to: number): void {
    this.#bytes = bytes
    this.#at = from
    this.#to = to
    let state = this.#state
    while (this.#at < to && state !== 'over') state = this[state]()
    this.#state = state
  }

  /** A mark cut short is the start of a line whose field nobody knows. */
  private start(): 'start' | 'line' | 'ignored' {
    if (this.#bytes[this.#at] !== BYTE_ORDER_MARK[this.#marks])
      return this.#marks === 0 ? 'line' : 'ignored'
    this.#at++
    return ++this.#marks === BYTE_ORDER_MARK.length ? 'line' : 'start'
  }

  private line(): 'line' | 'lf' | 'field' | 'ignored' {
    const byte = this.#bytes[this.#at]!
    if (isLineEnd(byte)) {
      this.#dispatch()
      return this.#nextLine()
    }
    if (byte === COLON) return 'ignored'
    this.#code = FIRST_CODE
    return 'field'
  }

  /** Behind a CR, which ended the line already. */
  private lf(): 'line' {
    if (this.#bytes[this.#at] === LF) this.#at++
    return 'line'
  }

  private field(): 'field' | 'space' | 'end' | 'ignored' | 'over' {
    while (this.#at < this.#to) {
      const byte = this.#bytes[this.#at]!
      if (isLineEnd(byte)) return this.#open('end')
      this.#at++
      if (byte === COLON) return this.#open('space')
      this.#code = nextCode(this.#code, byte)
      if (this.#code >= LAST_CODE) return 'ignored'
    }
    return 'field'
  }

  private space(): 'value' {
    if (this.#bytes[this.#at] === SPACE) this.#at++
    return 'value'
  }

  private value(): 'value' | 'end' | 'ignored' | 'over' {
    const from = this.#at
    this.#at = lineEnd(this.#bytes, from, this.#to)
    const pile = this.#code === DATA ? this.#data : this.#value
    if (!this.#fits(pile, this.#at - from)) return this.#overflow()
    pile.append(this.#bytes, from, this.#at)
    return this.#at === this.#to ? 'value' : 'end'
  }

  private end(): 'line' | 'lf' {
    if (this.#code !== DATA) this.#read(this.#value.take())
    return this.#nextLine()
  }

  private ignored(): 'line' | 'lf' | 'ignored' {
    this.#at = lineEnd(this.#bytes, this.#at, this.#to)
    return this.#at === this.#to ? 'ignored' : this.#nextLine()
  }

  protected over(): never {
    throw new Error('a stream that was given up takes no bytes')
  }

  /** At the end of a line. */
  #nextLine(): 'line' | 'lf' {
    return this.#bytes[this.#at++] === CR ? 'lf' : 'line'
  }

  /** The name is complete: on to the value, if it is a field we know. */
  #open<Next extends EventReaderState>(next: Next): Next | 'ignored' | 'over' {
    const code = this.#code
    if (this.#event === 'skipped') return 'ignored'
    if (code !== DATA) return code === EVENT || code === ID || code === RETRY ? next : 'ignored'
    if (this.#lines++ === 0) return next
    if (!this.#fits(this.#data, NEWLINE.length)) return this.#overflow()
    this.#data.append(NEWLINE, 0, NEWLINE.length)
    return next
  }

  #read(value: Buffer): void {
    if (this.#code === ID) {
      if (!value.includes(0)) this.#id = value.toString()
      return
    }
    const text = value.toString()
    if (this.#code === EVENT) this.#name = text
    else if (DIGITS.test(text)) this.#owner.retry(Math.min(Number(text), Number.MAX_SAFE_INTEGER))
  }

  #dispatch(): void {
    const [name, lines] = [this.#name, this.#event === 'whole' ? this.#lines : 0]
    this.#name = ''
    this.#lines = 0
    this.#event = 'whole'
    if (lines > 0) this.#owner.event(name, this.#data.take(), this.#id)
  }

  #fits(pile: ByteBuffer, more: number): boolean {
    return pile.length + more <= this.#maxBytes
  }

  #overflow(): 'ignored' | 'over' {
    this.#data.take()
    this.#value.take()
    this.#owner.tooLong(this.#name)
    if (this.#overlong === 'stop') return 'over'
    this.#event = 'skipped'
    return 'ignored'
  }
}

function isLineEnd(byte: number): boolean {
  return byte === LF || byte === CR
}

function lineEnd(bytes: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && !isLineEnd(bytes[at]!)) at++
  return at
}

// Whole events out of the text of an event stream that is passed on: a comment that somebody writes in between must not
// break one.

/** Of an event that has not come whole. */
const MAX_HELD = 67_108_864

const END = '\n\n'

export class WholeEventBuffer {
  #parts: string[] = []
  #held = 0

  /** All that are whole now; null when one is longer than any of ours. */
  push(text: string): string | null {
    const end = this.#endIn(text)
    if (end === 0) {
      this.#keep(text)
      return this.#held > MAX_HELD ? null : ''
    }
    const whole = [...this.#parts, text.slice(0, end)].join('')
    this.#parts = []
    this.#held = 0
    this.#keep(text.slice(end))
    return whole
  }

  /** Behind the last whole event; 0 when there is none. */
  #endIn(text: string): number {
    const at = text.lastIndexOf(END)
    if (at >= 0) return at + END.length
    return text.startsWith('\n') && this.#parts.at(-1)?.endsWith('\n') === true ? 1 : 0
  }

  #keep(text: string): void {
    if (text === '') return
    this.#parts.push(text)
    this.#held += text.length
  }
}

// The media type of server-sent events.

const EVENT_STREAM = 'text/event-stream'

/** The type alone or with parameters; another one may begin the same. */
export function isEventStream(type: string | undefined): boolean {
  const { length } = EVENT_STREAM
  if (type === undefined || type.length < length) return false
  if (type.substring(0, length).toLowerCase() !== EVENT_STREAM) return false
  const next = type.charAt(length)
  return next === '' || next === ';' || next === ' ' || next === '\t'
}
