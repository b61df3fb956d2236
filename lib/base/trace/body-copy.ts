// A bounded copy of a body that passes; what is above the bound passes uncopied.

import { Pile } from '../pile.ts'
import type { Outcome, Tap } from '../types.ts'

export interface Copied {
  /** Base64. */
  readonly body: string
  /** All that passed. */
  readonly bytes: number
  readonly truncated?: true
}

export class BodyCopy implements Tap {
  readonly #most: number
  readonly #done: (copy: Copied) => void
  readonly #pile = new Pile()
  #bytes = 0

  constructor(most: number, done: (copy: Copied) => void) {
    this.#most = most
    this.#done = done
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    const room = this.#most - this.#pile.length
    if (room > 0) this.#pile.add(bytes, from, Math.min(to, from + room))
  }

  end(_outcome: Outcome): void {
    const kept = this.#pile.take()
    const copy = { body: kept.toString('base64'), bytes: this.#bytes }
    this.#done(kept.length < this.#bytes ? { ...copy, truncated: true } : copy)
  }
}
