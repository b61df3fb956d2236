// Parses the events of a text/event-stream body and finds out when each of them arrived.

import { timeText } from './amounts.ts'

export interface StreamEvent {
  /** `rest`: the stream ended in the middle of this event. */
  readonly kind: 'event' | 'comment' | 'rest'
  /** Empty if the event has no name. */
  readonly name: string
  readonly id: string | null
  readonly data: string
  /** The offset in the stream of the byte after this event. */
  readonly end: number
}

export interface TimedEvent extends StreamEvent {
  /** Microseconds since the request was accepted; null if unknown. */
  readonly at: number | null
  /** Microseconds since the previous event. */
  readonly gap: number | null
}

export interface TimedEvents {
  readonly events: readonly TimedEvent[]
  /** How many events were not kept because of the limit. */
  readonly left: number
}

/** This many bytes had arrived at this time, in microseconds. */
type Arrival = readonly [bytes: number, at: number]

export interface Arrivals {
  readonly list: readonly Arrival[]
  /** How many chunks each entry of the list stands for. */
  readonly step: number
}

const LF = 10
const CR = 13
const BYTE_ORDER_MARK = 0xfeff
const MAX_EVENTS = 10_000
const MAX_EVENT_BYTES = 16 * 1024 * 1024

/** A parser that accepts the stream in chunks of any size. */
export class EventStreamReader {
  readonly #onEvent: (event: StreamEvent) => void
  readonly #maxBytes: number
  /** The incomplete line. */
  #parts: Uint8Array[] = []
  #partBytes = 0
  #state: 'start' | 'line' | 'cr' = 'start'
  #offset = 0
  #name = ''
  #id: string | null = null
  #data: string[] = []
  #dataLength = 0

  /** `maxBytes` limits one line, and the data of one event. */
  constructor(onEvent: (event: StreamEvent) => void, maxBytes: number) {
    this.#onEvent = onEvent
    this.#maxBytes = maxBytes
  }

  /** Throws a RangeError if an event exceeds the limit. */
  write(bytes: Uint8Array): void {
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte !== LF && byte !== CR) {
        if (this.#state === 'cr') this.#state = 'line'
        continue
      }
      // The LF of a CRLF.
      if (byte === LF && this.#state === 'cr') {
        this.#state = 'line'
        from = at + 1
        continue
      }
      this.#keep(bytes.subarray(from, at))
      this.#endLine(this.#offset + at + 1)
      if (byte === CR) this.#state = 'cr'
      from = at + 1
    }
    this.#keep(bytes.subarray(from))
    this.#offset += bytes.length
  }

  /** Ends the stream and reports an incomplete event as `rest`. */
  end(): void {
    if (this.#partBytes > 0) this.#endLine(this.#offset)
    if (this.#data.length > 0 || this.#name !== '') this.#emit('rest', this.#offset)
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#partBytes += bytes.length
    if (this.#partBytes > this.#maxBytes) throw new RangeError('an event is too long')
    // The caller may reuse its buffer.
    this.#parts.push(bytes.slice())
  }

  #endLine(end: number): void {
    const text = this.#takeLine()
    if (text === '') return this.#dispatch(end)
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (colon === 0) return this.#onEvent({ kind: 'comment', name: '', id: null, data: value, end })
    if (field === 'event') this.#name = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'data') this.#addData(value)
  }

  #addData(data: string): void {
    this.#dataLength += data.length + 1
    if (this.#dataLength > this.#maxBytes) throw new RangeError('an event is too long')
    this.#data.push(data)
  }

  #takeLine(): string {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    const last = this.#parts.length - 1
    const text = this.#parts.map((part, at) => decoder.decode(part, { stream: at < last })).join('')
    const isFirst = this.#state === 'start'
    this.#parts = []
    this.#partBytes = 0
    this.#state = 'line'
    return isFirst && text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  }

  #dispatch(end: number): void {
    if (this.#data.length > 0) return this.#emit('event', end)
    this.#name = ''
  }

  #emit(kind: 'event' | 'rest', end: number): void {
    const [name, data] = [this.#name, this.#data.join('\n')]
    this.#name = ''
    this.#data = []
    this.#dataLength = 0
    this.#onEvent({ kind, name, id: this.#id, data, end })
  }
}

/** An event arrived when its last byte did. */
export function timedEvents(bytes: Uint8Array, arrivals: Arrivals['list']): TimedEvents {
  const events: TimedEvent[] = []
  let left = 0
  let next = 0
  const addEvent = (event: StreamEvent): void => {
    if (events.length >= MAX_EVENTS) return void left++
    while (next < arrivals.length && arrivals[next]![0] < event.end) next++
    const at = arrivals[next]?.[1] ?? null
    const previous = events.at(-1)?.at ?? null
    events.push({ ...event, at, gap: at === null || previous === null ? null : at - previous })
  }
  const reader = new EventStreamReader(addEvent, MAX_EVENT_BYTES)
  try {
    reader.write(bytes)
    reader.end()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    left++
  }
  return { events, left }
}

/** Reads the arrivals of a `bodySnapshot`; an empty list if there are none or they are invalid. */
export function arrivalsOf(message: Readonly<Record<string, unknown>>): Arrivals {
  const { arrivals, arrivalStep } = message
  const step = typeof arrivalStep === 'number' && arrivalStep > 1 ? arrivalStep : 1
  const list: unknown[] = Array.isArray(arrivals) ? arrivals : []
  return { list: list.every(isArrival) ? (list as Arrival[]) : [], step }
}

function isArrival(value: unknown, at: number, list: readonly unknown[]): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false
  const [bytes, time] = value as unknown[]
  if (typeof bytes !== 'number' || typeof time !== 'number' || time < 0) return false
  const previous = at === 0 ? null : (list[at - 1] as Arrival)
  return previous === null || (previous[0] <= bytes && previous[1] <= time)
}

/** The number of chunks: `18`, or `about 4000` if each arrival stands for several. */
export function partCount({ list, step }: Arrivals): string {
  return step > 1 ? `about ${list.length * step}` : `${list.length}`
}

/** `18, after 12.4 ms to 889.0 ms`; the list must not be empty. */
export function arrivalWords(arrivals: Arrivals): string {
  const [first, last] = [arrivals.list[0]!, arrivals.list.at(-1)!]
  const until = first === last ? '' : ` to ${timeText(last[1])}`
  return `${partCount(arrivals)}, after ${timeText(first[1])}${until}`
}

/** Describes the timing of a stream in one sentence. */
export function streamWords({ events, left }: TimedEvents): string {
  const complete = events.filter(({ kind }) => kind === 'event')
  const count = complete.length + left
  const counted = count === 1 ? '1 event' : `${count} events`
  const [first, last] = [complete[0]?.at ?? null, complete.at(-1)?.at ?? null]
  if (first === null || last === null) return `${counted}; arrival times are unknown.`
  if (complete.length === 1) return `${counted}, after ${timeText(first)}.`
  const pause = longestPause(events)
  const pauseText =
    pause === null
      ? ''
      : `; the longest pause was ${timeText(pause.gap)}, before event ${pause.number}`
  return `${counted} in ${timeText(last - first)}, the first after ${timeText(first)}${pauseText}.`
}

/** `number` counts from 1, as in the list. */
function longestPause(events: readonly TimedEvent[]): { gap: number; number: number } | null {
  let longest: { gap: number; number: number } | null = null
  for (const [at, { gap }] of events.entries())
    if (gap !== null && gap > (longest?.gap ?? 0)) longest = { gap, number: at + 1 }
  return longest
}
