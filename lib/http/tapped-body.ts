// A body with somebody who watches: every byte goes on first, untouched and in the form it was asked for, and is
// shown to the tap afterwards, without the framing.

import { GatewayError } from '../core/errors.ts'
import type { HeaderFields } from '../core/head.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink, Tap } from '../core/types.ts'
import { BodyFramer } from './framer.ts'

export class TappedBody implements Body, Sink {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: Body
  readonly #tap: Tap
  /** `dropped`: the tap has thrown and is shown nothing more; its end it hears all the same. */
  #state: 'watched' | 'dropped' | 'over' = 'watched'
  /** Where the bytes have chunk sizes in them. */
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
    if (form === 'wire' && this.framing === 'chunked') this.#unframe()
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
    if (this.#state === 'watched') this.#show(bytes, from, to)
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

  #unframe(): void {
    const framer = new BodyFramer()
    framer.start('chunked', -1)
    framer.onContent = (bytes, from, to) => this.#tap.chunk(bytes, from, to)
    this.#framer = framer
  }

  #show(bytes: Buffer, from: number, to: number): void {
    try {
      if (this.#framer === null) this.#tap.chunk(bytes, from, to)
      else this.#framer.consume(bytes, from, to)
    } catch (error) {
      // Whatever is wrong with the tap, the stream is not to suffer for it.
      this.#state = 'dropped'
      reportTapError(error)
    }
  }

  #finish(outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    try {
      this.#tap.end(outcome)
    } catch (error) {
      // As above.
      reportTapError(error)
    }
  }
}

/** Chunks that are none are a backend's fault, and somebody else's to tell of. */
function reportTapError(error: unknown): void {
  if (!(error instanceof GatewayError)) throwInMicrotask(error)
}

// A bug that is not to end what it was found in: nothing above is told, but the process is, and its log has the stack.

export function throwInMicrotask(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
