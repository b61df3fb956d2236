// A request body that can be sent more than once: it forwards the bytes and keeps a copy of up to MAX_REPLAY_BYTES. A larger body
// is forwarded without a copy and cannot be retried. The creator calls `forget` when no retry follows.

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
  /** null once the body is larger than the bound, or after `forget`. */
  #kept: Buffer[] | null = []
  #keptBytes = 0
  #receivedBytes = 0
  #trailers: HeaderFields | null = null

  constructor(source: Body) {
    this.#source = source
    // The copy has no chunk framing, so that each backend can get its own framing.
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

  /** Detaches the attempt that was reading; the source pauses until the next attempt starts. */
  release(): void {
    this.#sink = null
    if (this.#state === 'flowing') this.#source.pause()
  }

  /** Drops the copy: no retry follows, and the rest is only forwarded. */
  forget(): void {
    this.#kept = null
    bytesInFlight.retained -= this.#keptBytes
    this.#keptBytes = 0
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
    this.#receivedBytes += to - from
    if (this.#receivedBytes > MAX_REPLAY_BYTES) this.forget()
    else if (this.#kept !== null) {
      this.#kept.push(Buffer.from(bytes.subarray(from, to)))
      this.#keptBytes += to - from
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
