// A request body read whole, for what can be decided only at its end: a JSON-RPC message, a form, a registration. Each is
// bounded, and so is what all of a kind may hold together.

import type { Budget } from './bounds/budget.ts'
import { inFlight } from './bounds/in-flight.ts'
import type { Exchange } from './exchange.ts'
import { Pile } from './pile.ts'
import type { Body, Outcome, Sink } from './types.ts'
import type { Fields } from './wire/head.ts'

export interface WholeOwner {
  read(bytes: Buffer): void
  /** It is longer than allowed: at least so many bytes. */
  tooLarge(bytes: number): void
  /** Too much of others' is being read. */
  noRoom(): void
}

export interface WholeBounds {
  readonly most: number
  /** null where each is small: only what the process may hold bounds them all. */
  readonly together: Budget | null
}

export class WholeReader implements Sink {
  readonly #body: Body
  readonly #bounds: WholeBounds
  readonly #owner: WholeOwner
  readonly #pile = new Pile()
  #state: 'reading' | 'over' = 'reading'

  constructor(body: Body, bounds: WholeBounds, owner: WholeOwner) {
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
    const { most } = this.#bounds
    const size = this.#pile.length + to - from
    if (size > most) {
      this.#finish()
      this.#owner.tooLarge(size)
    } else if (this.#take(to - from)) this.#pile.add(bytes, from, to)
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
    const { together } = this.#bounds
    if (together === null) inFlight.kept -= this.#pile.length
    else together.give(this.#pile.length)
    return this.#pile.take()
  }

  #take(bytes: number): boolean {
    const { together } = this.#bounds
    if (together !== null) return together.take(bytes)
    inFlight.kept += bytes
    return true
  }
}

/** The same as a promise; null for one that is too large. Of a client that left nothing is heard any more. */
export function readWhole(exchange: Exchange, limit: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const outer = exchange.call
    const call = { cancel: () => reader.abandon() }
    const over = (bytes: Buffer | null): void => {
      if (exchange.call === call) exchange.call = outer
      resolve(bytes)
    }
    const reader = new WholeReader(
      exchange.body,
      { most: limit, together: null },
      { read: over, tooLarge: () => over(null), noRoom: () => over(null) },
    )
    exchange.call = call
    reader.start()
  })
}
