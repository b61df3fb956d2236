// Removes the usage chunk from an event stream when the gateway asked for it and the client did not. All other bytes are
// unchanged; an incomplete event is held until its end arrives, because only then it can be recognised. Comments before it,
// which some providers send as heartbeats, are not held.

import { ByteBuffer } from '../../../text/byte-buffer.ts'
import { EventReader } from '../../../text/sse-reader.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../core/types.ts'
import type { HeaderFields } from '../../../core/head.ts'
import { isObject } from './raw-usage.ts'
import { detectBlankLineEnd } from './watch-events.ts'
import { containsMarker } from './extract-usage.ts'

/** A usage chunk is far shorter; a longer event is forwarded without a check. */
export const MAX_HELD_EVENT_BYTES = 16_384

/** `line`: at the start of a line. `lf`: after a CR that ended a line. `dropped`: after the final CR of a removed event. */
type UsageFilterState = 'line' | 'text' | 'lf' | 'dropped'

const LF = 10
const CR = 13
const COLON = 58
const USAGE_MARKERS = ['usage"']
const BLANK_LINE = Buffer.from('\n\n')

export class UsageFilter implements Body, Sink {
  readonly framing: BodyFraming
  readonly length = -1
  readonly #source: Body
  readonly #isUnwanted: () => boolean
  #sink!: Sink
  #state: UsageFilterState = 'line'
  /** `passing`: the current event is too long to be held. */
  #event: 'held' | 'passing' = 'held'
  /** Whether the current event has only comments so far. */
  #content: 'comments' | 'fields' = 'comments'
  /** The offset after the last comment before the fields of the current event; -1 if there is none in the current chunk. */
  #commentEnd = -1
  readonly #held = new ByteBuffer()
  #hasRoom = true

  /** `isUnwanted`: whether only the gateway asked for usage; called when a usage chunk arrives. */
  constructor(source: Body, isUnwanted: () => boolean) {
    this.framing = source.framing === 'none' ? 'none' : 'open'
    this.#source = source
    this.#isUnwanted = isUnwanted
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#sink = sink
    this.#source.start(this, 'content')
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#held.take()
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (from === to) return true
    this.#hasRoom = true
    if (this.#hasNoUsage(bytes, from, to)) this.#forward(bytes, from, to)
    else this.#filterEvents(bytes, from, to)
    return this.#hasRoom
  }

  end(trailers: HeaderFields | null): void {
    this.#flush()
    this.#sink.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#flush()
    this.#sink.cut(outcome)
  }

  /** Whether the bytes are complete events without usage. */
  #hasNoUsage(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state !== 'line' || this.#held.length > 0 || this.#event === 'passing') return false
    if (detectBlankLineEnd(bytes, from, to) === '') return false
    return !containsMarker(bytes.latin1Slice(from, to), USAGE_MARKERS)
  }

  #filterEvents(bytes: Buffer, from: number, to: number): void {
    // All bytes before `done` are forwarded or removed; the current event starts at `event`.
    let done = from
    if (this.#state === 'dropped') {
      this.#state = 'line'
      if (bytes[from] === LF) done++
    }
    let event = done
    let end = this.#eventEnd(bytes, event, to)
    event = this.#skipComments(event)
    while (end >= 0) {
      if (this.#isUnwantedEvent(bytes, event, end)) {
        this.#forward(bytes, done, event)
        done = end
        if (end === to && bytes[end - 1] === CR) this.#state = 'dropped'
      }
      event = end
      end = this.#eventEnd(bytes, event, to)
      event = this.#skipComments(event)
    }
    this.#forward(bytes, done, this.#hold(bytes, event, to))
  }

  /** Returns where the current event starts after its comments, which are forwarded with all bytes before it. */
  #skipComments(event: number): number {
    if (this.#commentEnd < 0) return event
    this.#forwardHeld()
    this.#event = 'held'
    return this.#commentEnd
  }

  /** The offset after the blank line that ends the current event; -1 if it has not arrived. */
  #eventEnd(bytes: Buffer, from: number, to: number): number {
    let state = this.#state
    this.#commentEnd = -1
    for (let at = from; at < to; at++) {
      const byte = bytes[at]
      const endsCrlf = state === 'lf' && byte === LF
      if (byte !== LF && byte !== CR) {
        // At the start of a line: after the first field, comments are held with it.
        if (state !== 'text' && byte !== COLON) this.#content = 'fields'
        state = 'text'
      } else if (endsCrlf || state === 'text') {
        state = byte === CR ? 'lf' : 'line'
        if (this.#content === 'comments') this.#commentEnd = at + 1
      } else {
        this.#state = 'line'
        this.#content = 'comments'
        const isCrlf = byte === CR && at + 1 < to && bytes[at + 1] === LF
        return isCrlf ? at + 2 : at + 1
      }
    }
    this.#state = state
    return -1
  }

  /** Decides on the current event, which ends at `to`. If it is kept, its held bytes are forwarded. */
  #isUnwantedEvent(bytes: Buffer, from: number, to: number): boolean {
    const wasPassing = this.#event === 'passing'
    const heldBytes = this.#held.length
    this.#event = 'held'
    if (wasPassing || heldBytes + to - from > MAX_HELD_EVENT_BYTES) {
      this.#forwardHeld()
      return false
    }
    if (heldBytes === 0) return this.#isUnwantedUsage(bytes, from, to)
    this.#held.append(bytes, from, to)
    const event = this.#held.take()
    if (this.#isUnwantedUsage(event, 0, event.length)) return true
    this.#forward(event, 0, heldBytes)
    return false
  }

  /** Holds the bytes of an incomplete event; returns the end of the bytes that can be forwarded. */
  #hold(bytes: Buffer, from: number, to: number): number {
    if (this.#event === 'passing' || from === to) return to
    if (this.#held.length + to - from <= MAX_HELD_EVENT_BYTES) {
      this.#held.append(bytes, from, to)
      return from
    }
    this.#forwardHeld()
    this.#event = 'passing'
    return to
  }

  /** At the end of the stream: the held bytes are no event, or one without its blank line. */
  #flush(): void {
    const held = this.#held.take()
    if (!this.#isUnwantedUsage(held, 0, held.length)) this.#forward(held, 0, held.length)
  }

  #isUnwantedUsage(bytes: Buffer, from: number, to: number): boolean {
    return isUsageChunk(bytes, from, to) && this.#isUnwanted()
  }

  #forwardHeld(): void {
    const held = this.#held.take()
    this.#forward(held, 0, held.length)
  }

  #forward(bytes: Buffer, from: number, to: number): void {
    if (from < to && !this.#sink.write(bytes, from, to)) this.#hasRoom = false
  }
}

/** An object with usage, and with empty `choices` or none; with choices it is a content chunk. */
function isUsageChunk(bytes: Buffer, from: number, to: number): boolean {
  if (!containsMarker(bytes.latin1Slice(from, to), USAGE_MARKERS)) return false
  let isUsage = false
  const owner = {
    event: (_name: string, data: Buffer): void => void (isUsage = hasOnlyUsage(data)),
    retry: (): void => {},
    tooLong: (): void => {},
  }
  const reader = new EventReader(owner, MAX_HELD_EVENT_BYTES)
  reader.write(bytes, from, to)
  reader.write(BLANK_LINE, 0, BLANK_LINE.length)
  return isUsage
}

/** Members of events with usage and without `choices` that clients need: errors, and events of other dialects. */
const CONTENT_NAMES = ['error', 'type', 'delta', 'message', 'content', 'text']

function hasOnlyUsage(data: Buffer): boolean {
  try {
    const chunk: unknown = JSON.parse(data.toString())
    if (!isObject(chunk) || !isObject(chunk['usage'])) return false
    const { choices } = chunk
    if (Array.isArray(choices)) return choices.length === 0
    const isMissing = choices === undefined || choices === null
    return isMissing && !CONTENT_NAMES.some((name) => Object.hasOwn(chunk, name))
  } catch {
    return false
  }
}
