// An answer's content gathered to its end, within a bound.

import { Pile } from '../../../base/pile.ts'
import type { Body, Sink } from '../../../base/types.ts'

/** Hears one of the three, once, unless it cancelled. */
export interface WholeOwner {
  whole(bytes: Buffer): void
  tooLong(): void
  broken(): void
}

export class Whole implements Sink {
  readonly #body: Body
  readonly #owner: WholeOwner
  readonly #maxBytes: number
  readonly #pile = new Pile()
  #state: 'open' | 'over' = 'open'

  constructor(body: Body, owner: WholeOwner, maxBytes: number) {
    this.#body = body
    this.#owner = owner
    this.#maxBytes = maxBytes
  }

  start(flow: 'running' | 'paused'): void {
    if (this.#body.length > this.#maxBytes) return this.#overflow()
    if (flow === 'paused') this.#body.pause()
    this.#body.start(this, 'content')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'over') return true
    if (this.#pile.length + to - from > this.#maxBytes) this.#overflow()
    else this.#pile.add(bytes, from, to)
    return true
  }

  end(): void {
    if (this.#finish()) this.#owner.whole(this.#pile.take())
  }

  cut(): void {
    if (this.#finish()) this.#owner.broken()
  }

  pause(): void {
    if (this.#state === 'open') this.#body.pause()
  }

  resume(): void {
    if (this.#state === 'open') this.#body.resume()
  }

  cancel(): void {
    if (this.#finish()) this.#body.cancel()
  }

  #overflow(): void {
    this.cancel()
    this.#owner.tooLong()
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    return true
  }
}
