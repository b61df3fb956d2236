// Finds the events of a text/event-stream, wherever its bytes are cut, and where each of them ended.

export interface StreamEvent {
  /** `rest`: the stream ended in the middle of it. */
  readonly kind: 'event' | 'comment' | 'rest'
  /** '' when none was sent. */
  readonly name: string
  readonly id: string | null
  readonly data: string
  /** Bytes of the stream up to its end. */
  readonly end: number
}

const LF = 10
const CR = 13
const BYTE_ORDER_MARK = 0xfeff

export class EventStreamReader {
  readonly #hear: (event: StreamEvent) => void
  readonly #mostBytes: number
  /** Of the line that has not ended. */
  #parts: Uint8Array[] = []
  #held = 0
  #state: 'start' | 'line' | 'cr' = 'start'
  #read = 0
  #name = ''
  #id: string | null = null
  #data: string[] = []
  #weight = 0

  /** `mostBytes` bounds a line, and the data of one event. */
  constructor(hear: (event: StreamEvent) => void, mostBytes: number) {
    this.#hear = hear
    this.#mostBytes = mostBytes
  }

  /** Throws a RangeError at an event above the bound. */
  write(bytes: Uint8Array): void {
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte !== LF && byte !== CR) {
        if (this.#state === 'cr') this.#state = 'line'
        continue
      }
      // The second half of a line end.
      if (byte === LF && this.#state === 'cr') {
        this.#state = 'line'
        from = at + 1
        continue
      }
      this.#keep(bytes.subarray(from, at))
      this.#line(this.#read + at + 1)
      if (byte === CR) this.#state = 'cr'
      from = at + 1
    }
    this.#keep(bytes.subarray(from))
    this.#read += bytes.length
  }

  /** Nothing more comes: what there is of the event under way is told. */
  end(): void {
    if (this.#held > 0) this.#line(this.#read)
    if (this.#data.length > 0 || this.#name !== '') this.#tell('rest', this.#read)
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#held += bytes.length
    if (this.#held > this.#mostBytes) throw new RangeError('an event is too long')
    // The bytes may be somebody else's to use again.
    this.#parts.push(bytes.slice())
  }

  #line(end: number): void {
    const text = this.#take()
    if (text === '') return this.#dispatch(end)
    const colon = text.indexOf(':')
    const name = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (colon === 0) return this.#hear({ kind: 'comment', name: '', id: null, data: value, end })
    if (name === 'event') this.#name = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'data') this.#add(value)
  }

  #add(data: string): void {
    this.#weight += data.length + 1
    if (this.#weight > this.#mostBytes) throw new RangeError('an event is too long')
    this.#data.push(data)
  }

  #take(): string {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    const last = this.#parts.length - 1
    const text = this.#parts.map((part, at) => decoder.decode(part, { stream: at < last })).join('')
    const isFirst = this.#state === 'start'
    this.#parts = []
    this.#held = 0
    this.#state = 'line'
    return isFirst && text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  }

  #dispatch(end: number): void {
    if (this.#data.length > 0) return this.#tell('event', end)
    this.#name = ''
  }

  #tell(kind: 'event' | 'rest', end: number): void {
    const [name, data] = [this.#name, this.#data.join('\n')]
    this.#name = ''
    this.#data = []
    this.#weight = 0
    this.#hear({ kind, name, id: this.#id, data, end })
  }
}
