// Takes the chunk with the usage, which the client did not ask for, out of an event stream again. All other bytes pass as
// they came; those of an event that is not complete wait until it is, for only then can it be told apart.

import { ByteBuffer } from '../../../text/byte-buffer.ts'
import { EventReader } from '../../../text/sse-reader.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../../core/types.ts'
import type { HeaderFields } from '../../../core/head.ts'
import { isObject } from './raw-usage.ts'
import { detectBlankLineEnd } from './watch-events.ts'
import { containsMarker } from './extract-usage.ts'

/** A chunk with usage is far shorter: an event above this passes unseen. */
export const MAX_HELD_EVENT_BYTES = 16_384

/** Where we are in the lines. `lf`: behind a CR, which ended the line. `dropped`: the same, behind the event taken out. */
type UsageFilterState = 'line' | 'text' | 'lf' | 'dropped'

const LF = 10
const CR = 13
const USAGE_MARKERS = ['usage"']
const BLANK_LINE = Buffer.from('\n\n')

export class UsageFilter implements Body, Sink {
  readonly framing: BodyFraming
  readonly length = -1
  readonly #source: Body
  readonly #isAsked: () => boolean
  #sink!: Sink
  #state: UsageFilterState = 'line'
  /** `passing`: the event in work is too long to be held. */
  #event: 'held' | 'passing' = 'held'
  readonly #held = new ByteBuffer()
  #hasRoom = true

  /** `isAsked`: whether the chunk is there on our behalf; asked when one comes. */
  constructor(source: Body, isAsked: () => boolean) {
    this.framing = source.framing === 'none' ? 'none' : 'open'
    this.#source = source
    this.#isAsked = isAsked
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
    if (this.#isPlain(bytes, from, to)) this.#pass(bytes, from, to)
    else this.#filterEvents(bytes, from, to)
    return this.#hasRoom
  }

  end(trailers: HeaderFields | null): void {
    this.#release()
    this.#sink.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#release()
    this.#sink.cut(outcome)
  }

  /** Whole events, none of which tells usage. */
  #isPlain(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state !== 'line' || this.#held.length > 0 || this.#event === 'passing') return false
    if (detectBlankLineEnd(bytes, from, to) === '') return false
    return !containsMarker(bytes.latin1Slice(from, to), USAGE_MARKERS)
  }

  #filterEvents(bytes: Buffer, from: number, to: number): void {
    // Up to `done` all has been passed on or dropped; `event` is where the one in work begins.
    let done = from
    if (this.#state === 'dropped') {
      this.#state = 'line'
      if (bytes[from] === LF) done++
    }
    let event = done
    let end = this.#eventEnd(bytes, event, to)
    while (end >= 0) {
      if (this.#isUnwantedEvent(bytes, event, end)) {
        this.#pass(bytes, done, event)
        done = end
        if (end === to && bytes[end - 1] === CR) this.#state = 'dropped'
      }
      event = end
      end = this.#eventEnd(bytes, event, to)
    }
    this.#pass(bytes, done, this.#hold(bytes, event, to))
  }

  /** Behind the empty line that ends the event in work; -1 if that is not here. */
  #eventEnd(bytes: Buffer, from: number, to: number): number {
    let state = this.#state
    for (let at = from; at < to; at++) {
      const byte = bytes[at]
      const isRest = state === 'lf' && byte === LF
      if (byte !== LF && byte !== CR) state = 'text'
      else if (isRest) state = 'line'
      else if (state === 'text') state = byte === CR ? 'lf' : 'line'
      else {
        this.#state = 'line'
        const isPair = byte === CR && at + 1 < to && bytes[at + 1] === LF
        return isPair ? at + 2 : at + 1
      }
    }
    this.#state = state
    return -1
  }

  /** The event in work ends there. If it stays, what is held of it goes in front of the bytes in hand. */
  #isUnwantedEvent(bytes: Buffer, from: number, to: number): boolean {
    const wasPassing = this.#event === 'passing'
    const before = this.#held.length
    this.#event = 'held'
    if (wasPassing || before + to - from > MAX_HELD_EVENT_BYTES) {
      this.#passHeld()
      return false
    }
    if (before === 0) return this.#isUsage(bytes, from, to)
    this.#held.append(bytes, from, to)
    const whole = this.#held.take()
    if (this.#isUsage(whole, 0, whole.length)) return true
    this.#pass(whole, 0, before)
    return false
  }

  /** Keeps what is here of an event without its end; where the bytes that are not kept end. */
  #hold(bytes: Buffer, from: number, to: number): number {
    if (this.#event === 'passing' || from === to) return to
    if (this.#held.length + to - from <= MAX_HELD_EVENT_BYTES) {
      this.#held.append(bytes, from, to)
      return from
    }
    this.#passHeld()
    this.#event = 'passing'
    return to
  }

  /** The stream is over: what is held is no event, or one without its empty line. */
  #release(): void {
    const held = this.#held.take()
    if (!this.#isUsage(held, 0, held.length)) this.#pass(held, 0, held.length)
  }

  #isUsage(bytes: Buffer, from: number, to: number): boolean {
    return isUsageChunk(bytes, from, to) && this.#isAsked()
  }

  #passHeld(): void {
    const held = this.#held.take()
    this.#pass(held, 0, held.length)
  }

  #pass(bytes: Buffer, from: number, to: number): void {
    if (from < to && !this.#sink.write(bytes, from, to)) this.#hasRoom = false
  }
}

/** An object with usage and without choices; with choices it is a chunk like any. */
function isUsageChunk(bytes: Buffer, from: number, to: number): boolean {
  if (!containsMarker(bytes.latin1Slice(from, to), USAGE_MARKERS)) return false
  let isOne = false
  const owner = {
    event: (_name: string, data: Buffer): void => void (isOne = hasOnlyUsage(data)),
    retry: (): void => {},
    tooLong: (): void => {},
  }
  const reader = new EventReader(owner, MAX_HELD_EVENT_BYTES)
  reader.write(bytes, from, to)
  reader.write(BLANK_LINE, 0, BLANK_LINE.length)
  return isOne
}

function hasOnlyUsage(data: Buffer): boolean {
  try {
    const chunk: unknown = JSON.parse(data.toString())
    if (!isObject(chunk) || !isObject(chunk['usage'])) return false
    const { choices } = chunk
    return Array.isArray(choices) && choices.length === 0
  } catch {
    return false
  }
}
