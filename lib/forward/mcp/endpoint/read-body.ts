// A client's message, read whole: JSON-RPC cannot be decided on before its end. Bounded by config.mcp.maxRequestBytes,
// and by what all of them together may hold.

import type { Budget } from '../../../base/budget.ts'
import { Pile } from '../../../base/pile.ts'
import type { Body, Outcome, Sink } from '../../../base/types.ts'
import type { Fields } from '../../../base/wire/head.ts'

export interface BodyOwner {
  read(bytes: Buffer): void
  /** It is longer than allowed: at least so many bytes. */
  tooLarge(bytes: number): void
  /** Too much of others' is being read. */
  noRoom(): void
}

export interface BodyBounds {
  readonly most: number
  readonly together: Budget
}

export class BodyReader implements Sink {
  readonly #body: Body
  readonly #bounds: BodyBounds
  readonly #owner: BodyOwner
  readonly #pile = new Pile()
  #state: 'reading' | 'over' = 'reading'

  constructor(body: Body, bounds: BodyBounds, owner: BodyOwner) {
    this.#body = body
    this.#bounds = bounds
    this.#owner = owner
  }

  start(): void {
    const { length } = this.#body
    if (length <= this.#bounds.most) return this.#body.start(this, 'content')
    this.#state = 'over'
    this.#owner.tooLarge(length)
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'over') return true
    const size = this.#pile.length + to - from
    if (size > this.#bounds.most) {
      this.#finish()
      this.#owner.tooLarge(size)
    } else if (this.#bounds.together.take(to - from)) this.#pile.add(bytes, from, to)
    else {
      this.#finish()
      this.#owner.noRoom()
    }
    return true
  }

  end(_trailers: Fields | null): void {
    if (this.#state === 'reading') this.#owner.read(this.#finish())
  }

  /** The client is gone, and with it the exchange. */
  cut(_outcome: Outcome): void {
    this.abandon()
  }

  /** Nobody waits for it any more. */
  abandon(): void {
    if (this.#state === 'reading') this.#finish()
  }

  /** What was read; its share is free again. */
  #finish(): Buffer {
    this.#state = 'over'
    this.#bounds.together.give(this.#pile.length)
    return this.#pile.take()
  }
}
