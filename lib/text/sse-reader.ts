// Reads the events of a text/event-stream exactly as the WHATWG HTML standard defines, wherever the bytes are split.

import { ByteBuffer } from './byte-buffer.ts'

/** The owner is called during `write`. */
export interface EventReaderOwner {
  /** `name` is '' if none was sent; `id` is the latest one sent. The owner may keep the data. */
  event(name: string, data: Buffer, id: string | null): void
  /** How long the sender asks to wait before a reconnect. */
  retry(ms: number): void
  /** The data of an event, or another field, exceeds the bound; that event, or all events after it, are dropped. */
  tooLong(name: string): void
  /** In mode `skip`: the data of that event in pieces, which are valid only during the call, and its end. */
  longData?(bytes: Buffer, from: number, to: number): void
  longEnd?(): void
}

/** What follows an event over the bound: no events, or the events after it. */
export type OverlongEventMode = 'stop' | 'skip'

type EventReaderState =
  'start' | 'line' | 'lf' | 'field' | 'space' | 'value' | 'end' | 'ignored' | 'stopped'

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const NEWLINE = Buffer.from('\n')
const DIGITS = /^[0-9]+$/

/** A field name as a number, for a fast comparison at every line. It starts with 1, so that a leading NUL counts. */
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
/** Above the code of any name of five letters, the length of the longest known name. */
const LAST_CODE = 2 * 256 ** 5

export class EventReader {
  readonly #owner: EventReaderOwner
  readonly #maxBytes: number
  readonly #overlong: OverlongEventMode
  #state: EventReaderState = 'start'
  /** Bytes of the byte order mark that were read. */
  #markBytes = 0
  /** The name of the current field. */
  #code = FIRST_CODE
  /** The event so far: its number of data fields, their content, and its name. */
  #lines = 0
  readonly #data = new ByteBuffer()
  #name = ''
  #event: 'whole' | 'skipped' = 'whole'
  /** The content of a field other than data. */
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

  /** Between two events: a caller that knows that whole events follow need not write them. */
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
    while (this.#at < to && state !== 'stopped') state = this[state]()
    this.#state = state
  }

  /** An incomplete byte order mark is the start of a line with an unknown field. */
  private start(): 'start' | 'line' | 'ignored' {
    if (this.#bytes[this.#at] !== BYTE_ORDER_MARK[this.#markBytes])
      return this.#markBytes === 0 ? 'line' : 'ignored'
    this.#at++
    return ++this.#markBytes === BYTE_ORDER_MARK.length ? 'line' : 'start'
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

  /** After a CR, which already ended the line. */
  private lf(): 'line' {
    if (this.#bytes[this.#at] === LF) this.#at++
    return 'line'
  }

  private field(): 'field' | 'space' | 'end' | 'ignored' | 'stopped' {
    while (this.#at < this.#to) {
      const byte = this.#bytes[this.#at]!
      if (isLineEnd(byte)) return this.#startField('end')
      this.#at++
      if (byte === COLON) return this.#startField('space')
      this.#code = nextCode(this.#code, byte)
      if (this.#code >= LAST_CODE) return 'ignored'
    }
    return 'field'
  }

  private space(): 'value' {
    if (this.#bytes[this.#at] === SPACE) this.#at++
    return 'value'
  }

  private value(): 'value' | 'end' | 'ignored' | 'stopped' {
    const from = this.#at
    this.#at = lineEnd(this.#bytes, from, this.#to)
    const buffer = this.#code === DATA ? this.#data : this.#value
    if (this.#event === 'whole' && !this.#fits(buffer, this.#at - from)) {
      const next = this.#overflow('value')
      if (next !== 'value') return next
    }
    if (this.#event === 'skipped') this.#owner.longData!(this.#bytes, from, this.#at)
    else buffer.append(this.#bytes, from, this.#at)
    return this.#at === this.#to ? 'value' : 'end'
  }

  private end(): 'line' | 'lf' {
    if (this.#code !== DATA) this.#readField(this.#value.take())
    return this.#nextLine()
  }

  private ignored(): 'line' | 'lf' | 'ignored' {
    this.#at = lineEnd(this.#bytes, this.#at, this.#to)
    return this.#at === this.#to ? 'ignored' : this.#nextLine()
  }

  protected stopped(): never {
    throw new Error('bytes after the reader stopped')
  }

  /** Called at the end of a line. */
  #nextLine(): 'line' | 'lf' {
    return this.#bytes[this.#at++] === CR ? 'lf' : 'line'
  }

  /** The field name is complete: continues with the value if the field is known. */
  #startField<Next extends EventReaderState>(next: Next): Next | 'ignored' | 'stopped' {
    const code = this.#code
    if (this.#event === 'skipped') return this.#passNewline(next)
    if (code !== DATA) return code === EVENT || code === ID || code === RETRY ? next : 'ignored'
    if (this.#lines++ === 0) return next
    if (!this.#fits(this.#data, NEWLINE.length)) {
      const after = this.#overflow(next)
      return after === next ? this.#passNewline(next) : after
    }
    this.#data.append(NEWLINE, 0, NEWLINE.length)
    return next
  }

  /** Starts another data field of an event over the bound. */
  #passNewline<Next extends EventReaderState>(next: Next): Next | 'ignored' {
    if (this.#code !== DATA || this.#owner.longData === undefined) return 'ignored'
    if (this.#lines++ > 0) this.#owner.longData(NEWLINE, 0, NEWLINE.length)
    return next
  }

  #readField(value: Buffer): void {
    if (this.#code === ID) {
      if (!value.includes(0)) this.#id = value.toString()
      return
    }
    const text = value.toString()
    if (this.#code === EVENT) this.#name = text
    else if (DIGITS.test(text)) this.#owner.retry(Math.min(Number(text), Number.MAX_SAFE_INTEGER))
  }

  #dispatch(): void {
    const isLong = this.#event === 'skipped'
    const [name, lines] = [this.#name, isLong ? 0 : this.#lines]
    this.#name = ''
    this.#lines = 0
    this.#event = 'whole'
    if (isLong) this.#owner.longEnd?.()
    else if (lines > 0) this.#owner.event(name, this.#data.take(), this.#id)
  }

  #fits(buffer: ByteBuffer, more: number): boolean {
    return buffer.length + more <= this.#maxBytes
  }

  /** Continues with `next` if the owner takes the data of the event in pieces. */
  #overflow<Next extends EventReaderState>(next: Next): Next | 'ignored' | 'stopped' {
    const held = this.#data.take()
    this.#value.take()
    this.#owner.tooLong(this.#name)
    if (this.#overlong === 'stop') return 'stopped'
    this.#event = 'skipped'
    if (this.#owner.longData === undefined) return 'ignored'
    if (held.length > 0) this.#owner.longData(held, 0, held.length)
    return this.#code === DATA ? next : 'ignored'
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

/** The most characters of an incomplete event. */
const MAX_PENDING_LENGTH = 67_108_864

const END = '\n\n'

/** Splits forwarded event-stream text after whole events, so that a comment written in between breaks none. */
export class WholeEventBuffer {
  #pending: string[] = []
  #pendingLength = 0

  /** All events that are complete now; null if one exceeds the bound. */
  push(text: string): string | null {
    const end = this.#endIn(text)
    if (end === 0) {
      this.#keep(text)
      return this.#pendingLength > MAX_PENDING_LENGTH ? null : ''
    }
    const whole = [...this.#pending, text.slice(0, end)].join('')
    this.#pending = []
    this.#pendingLength = 0
    this.#keep(text.slice(end))
    return whole
  }

  /** The index after the last whole event; 0 if there is none. */
  #endIn(text: string): number {
    const at = text.lastIndexOf(END)
    if (at >= 0) return at + END.length
    return text.startsWith('\n') && this.#pending.at(-1)?.endsWith('\n') === true ? 1 : 0
  }

  #keep(text: string): void {
    if (text === '') return
    this.#pending.push(text)
    this.#pendingLength += text.length
  }
}

const EVENT_STREAM = 'text/event-stream'

/** True for the type alone or with parameters; another type may begin with the same text. */
export function isEventStream(type: string | undefined): boolean {
  const { length } = EVENT_STREAM
  if (type === undefined || type.length < length) return false
  if (type.substring(0, length).toLowerCase() !== EVENT_STREAM) return false
  const next = type.charAt(length)
  return next === '' || next === ';' || next === ' ' || next === '\t'
}
