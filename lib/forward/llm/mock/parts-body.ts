// An answer that is sent in pieces: all at once, or one by one with a pause between them.

import { inFlight } from '../../../base/bounds/in-flight.ts'
import type { Body, Form, Framing, Sink } from '../../../base/types.ts'

/** Does something once, later; calling what it returns takes it back. */
export type Later = (act: () => void, ms: number) => () => void

export interface Delivery {
  /** Milliseconds between two pieces, or 0. */
  readonly pace: number
  readonly ending: 'end' | 'cut'
  /** Bytes that were promised, or -1. */
  readonly length: number
  readonly later: Later
}

/** `waiting`: for the next piece to be due. `held`: for the client. `dying`: all is out but the cut. */
type State = 'unread' | 'flowing' | 'waiting' | 'held' | 'dying' | 'over'

/** What was sent before a cut should arrive before it, as from a backend that dies. */
const DEATH_MS = 10

export class PartsBody implements Body {
  readonly framing: Framing
  readonly length: number
  readonly #parts: readonly Buffer[]
  readonly #delivery: Delivery
  #state: State = 'unread'
  #next = 0
  /** Of all parts that are still to go, and as much of it as is counted. */
  #left: number
  #weight = 0
  #sink: Sink | null = null
  #takeBack: (() => void) | null = null

  constructor(parts: readonly Buffer[], delivery: Delivery) {
    this.#parts = parts
    this.#left = parts.reduce((sum, { length }) => sum + length, 0)
    this.#delivery = delivery
    this.length = delivery.length
    this.framing = delivery.length < 0 ? 'open' : 'length'
  }

  start(sink: Sink, _form: Form): void {
    if (this.#state !== 'unread') return
    this.#sink = sink
    this.#flow()
  }

  pause(): void {
    if (this.#state !== 'flowing' && this.#state !== 'waiting') return
    this.#forget()
    this.#state = 'held'
    this.#weigh(this.#left)
  }

  resume(): void {
    if (this.#state === 'held') this.#flow()
  }

  cancel(): void {
    this.#forget()
    this.#weigh(0)
    this.#state = 'over'
    this.#sink = null
  }

  #flow(): void {
    this.#state = 'flowing'
    this.#weigh(0)
    while (this.#state === 'flowing') {
      const part = this.#parts[this.#next]
      if (part === undefined) return this.#finish()
      this.#next++
      this.#left -= part.length
      if (!this.#sink!.write(part, 0, part.length)) this.pause()
      else if (this.#delivery.pace > 0) this.#wait()
    }
  }

  #wait(): void {
    // The client may have left during the write.
    if (this.#state !== 'flowing') return
    this.#state = 'waiting'
    this.#weigh(this.#left)
    this.#takeBack = this.#delivery.later(() => this.#flow(), this.#delivery.pace)
  }

  #finish(): void {
    if (this.#delivery.ending === 'cut') {
      this.#state = 'dying'
      this.#takeBack = this.#delivery.later(() => this.#close()?.cut('backend_reset'), DEATH_MS)
    } else this.#close()?.end(null)
  }

  #close(): Sink | null {
    const sink = this.#sink
    this.cancel()
    return sink
  }

  #weigh(bytes: number): void {
    inFlight.kept += bytes - this.#weight
    this.#weight = bytes
  }

  #forget(): void {
    this.#takeBack?.()
    this.#takeBack = null
  }
}
