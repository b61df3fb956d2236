// A body that a tap observes: every byte is forwarded first, unchanged and in the requested form, and then passed to the
// tap without framing.

import { GatewayError } from '../core/errors.ts'
import type { HeaderFields } from '../core/head.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink, Tap } from '../core/types.ts'
import { BodyFramer } from './framer.ts'

export class TappedBody implements Body, Sink {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: Body
  readonly #tap: Tap
  /** `dropped`: the tap has thrown and gets no more bytes; its `end` is still called. */
  #state: 'observed' | 'dropped' | 'done' = 'observed'
  /** Set if the bytes contain chunk sizes. */
  #framer: BodyFramer | null = null
  #sink!: Sink

  constructor(source: Body, tap: Tap) {
    this.framing = source.framing
    this.length = source.length
    this.#source = source
    this.#tap = tap
  }

  start(sink: Sink, form: BodyForm): void {
    this.#sink = sink
    if (form === 'wire' && this.framing === 'chunked') this.#startFramer()
    this.#source.start(this, form)
  }

  pause(): void {
    this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#finish('client_closed')
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    const hasRoom = this.#sink.write(bytes, from, to)
    // The sink may have cancelled.
    if (this.#state === 'observed') this.#passToTap(bytes, from, to)
    return hasRoom
  }

  end(trailers: HeaderFields | null): void {
    this.#finish('complete')
    this.#sink.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#finish(outcome)
    this.#sink.cut(outcome)
  }

  #startFramer(): void {
    const framer = new BodyFramer()
    framer.start('chunked', -1)
    framer.onContent = (bytes, from, to) => this.#tap.chunk(bytes, from, to)
    this.#framer = framer
  }

  #passToTap(bytes: Buffer, from: number, to: number): void {
    try {
      if (this.#framer === null) this.#tap.chunk(bytes, from, to)
      else this.#framer.consume(bytes, from, to)
    } catch (error) {
      // An error of the tap must not affect the stream.
      this.#state = 'dropped'
      reportTapError(error)
    }
  }

  #finish(outcome: Outcome): void {
    if (this.#state === 'done') return
    this.#state = 'done'
    try {
      this.#tap.end(outcome)
    } catch (error) {
      // As above.
      reportTapError(error)
    }
  }
}

/** A framing error is a fault of the backend and is reported elsewhere. */
function reportTapError(error: unknown): void {
  if (!(error instanceof GatewayError)) throwInMicrotask(error)
}

/** Reports a bug without ending the work in which it occurred: the process logs the stack. */
export function throwInMicrotask(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
