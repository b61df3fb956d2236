// A request body that can be sent more than once: passes on and keeps a bounded copy. Above the bound it
// only passes on, and no second try is possible.

import { REPLAY_BYTES } from '../base/limits.ts'
import type { Body, Form, Framing, Outcome, Sink } from '../base/types.ts'
import type { Fields } from '../base/wire/head.ts'

export class ReplayBody implements Body, Sink {
  readonly framing: Framing
  readonly length: number
  readonly #source: Body
  #state: 'fresh' | 'flowing' | 'ended' | 'cut' = 'fresh'
  #sink: Sink | null = null
  /** null once the body has outgrown the bound. */
  #kept: Buffer[] | null = []
  #size = 0
  #trailers: Fields | null = null

  constructor(source: Body) {
    this.#source = source
    // Content is kept without its framing, so that another backend can be sent another one.
    this.framing = source.framing === 'chunked' ? 'open' : source.framing
    this.length = source.length
  }

  get isReplayable(): boolean {
    return this.#kept !== null && this.#state !== 'cut'
  }

  start(sink: Sink, _form: Form): void {
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
    if (this.#size > REPLAY_BYTES) this.#kept = null
    else this.#kept?.push(Buffer.from(bytes.subarray(from, to)))
    return this.#sink === null ? false : this.#sink.write(bytes, from, to)
  }

  end(trailers: Fields | null): void {
    this.#state = 'ended'
    this.#trailers = trailers
    this.#sink?.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#state = 'cut'
    this.#sink?.cut(outcome)
  }
}
