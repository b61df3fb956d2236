// A body with somebody who watches: every byte goes on first, untouched and in the form it was asked for, and is
// shown to the tap afterwards, without the framing.

import { GatewayError } from './errors.ts'
import { tellFault } from './tell-fault.ts'
import type { Body, Form, Framing, Outcome, Sink, Tap } from './types.ts'
import { Framer } from './wire/framer.ts'
import type { Fields } from './wire/head.ts'

export class TappedBody implements Body, Sink {
  readonly framing: Framing
  readonly length: number
  readonly #source: Body
  readonly #tap: Tap
  /** `dropped`: the tap has thrown and is shown nothing more; its end it hears all the same. */
  #state: 'watched' | 'dropped' | 'over' = 'watched'
  /** Where the bytes have chunk sizes in them. */
  #framer: Framer | null = null
  #sink!: Sink

  constructor(source: Body, tap: Tap) {
    this.framing = source.framing
    this.length = source.length
    this.#source = source
    this.#tap = tap
  }

  start(sink: Sink, form: Form): void {
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

  end(trailers: Fields | null): void {
    this.#finish('complete')
    this.#sink.end(trailers)
  }

  cut(outcome: Outcome): void {
    this.#finish(outcome)
    this.#sink.cut(outcome)
  }

  #unframe(): void {
    const framer = new Framer()
    framer.start('chunked', -1)
    framer.onContent = (bytes, from, to) => this.#tap.chunk(bytes, from, to)
    this.#framer = framer
  }

  #show(bytes: Buffer, from: number, to: number): void {
    try {
      if (this.#framer === null) this.#tap.chunk(bytes, from, to)
      else this.#framer.eat(bytes, from, to)
    } catch (error) {
      // Whatever is wrong with the tap, the stream is not to suffer for it.
      this.#state = 'dropped'
      tell(error)
    }
  }

  #finish(outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    try {
      this.#tap.end(outcome)
    } catch (error) {
      // As above.
      tell(error)
    }
  }
}

/** Chunks that are none are a backend's fault, and somebody else's to tell of. */
function tell(error: unknown): void {
  if (!(error instanceof GatewayError)) tellFault(error)
}
