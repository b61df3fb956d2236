// A request body that can be sent more than once: passes on and keeps a bounded copy. Above the bound it
// only passes on, and no second try is possible. Whoever makes one forgets it when there is no other try.

import { bytesInFlight } from '../core/byte-budgets.ts'
import { MAX_REPLAY_BYTES } from '../core/bounds.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../core/types.ts'
import type { HeaderFields } from '../core/head.ts'

export class ReplayBody implements Body, Sink {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: Body
  #state: 'fresh' | 'flowing' | 'ended' | 'cut' = 'fresh'
  #sink: Sink | null = null
  /** null once the body has outgrown the bound, or nobody wants it again. */
  #kept: Buffer[] | null = []
  /** Of what is kept. */
  #weight = 0
  #size = 0
  #trailers: HeaderFields | null = null

  constructor(source: Body) {
    this.#source = source
    // Content is kept without its framing, so that another backend can be sent another one.
    this.framing = source.framing === 'chunked' ? 'open' : source.framing
    this.length = source.length
  }

  get isReplayable(): boolean {
    return this.#kept !== null && this.#state !== 'cut'
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#sink = sink
    if (this.#state === 'fresh') {
      this.#state = 'flowing'
      return this.#source.start(this, 'content')
    }
    for (const part of this.#kept ?? []) sink.write(part, 0, part.length)
    if (this.#state === 'ended') sink.end(this.#trailers)
    else this.#source.resume()
  }

  /** The try that was reading is over; what comes now waits for the next one. */
  release(): void {
    this.#sink = null
    if (this.#state === 'flowing') this.#source.pause()
  }

  /** There is no other try: from now on it only passes on. */
  forget(): void {
    this.#kept = null
    bytesInFlight.retained -= this.#weight
    this.#weight = 0
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    this.#size += to - from
    if (this.#size > MAX_REPLAY_BYTES) this.forget()
    else if (this.#kept !== null) {
      this.#kept.push(Buffer.from(bytes.subarray(from, to)))
      this.#weight += to - from
      bytesInFlight.retained += to - from
    }
    return this.#sink === null ? false : this.#sink.write(bytes, from, to)
  }

  end(trailers: HeaderFields | null): void {
    this.#state = 'ended'
    this.#trailers = trailers
    this.#sink?.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#state = 'cut'
    this.forget()
    this.#sink?.cut(outcome)
  }
}
