// A request body read whole, for what can be decided only at its end: a JSON-RPC message, a form, a registration. Each is
// bounded, and so is what all of a kind may hold together.

import type { ByteBudget } from '../core/byte-budgets.ts'
import { bytesInFlight } from '../core/byte-budgets.ts'
import type { Exchange } from '../core/exchange.ts'
import { ByteBuffer } from '../text/byte-buffer.ts'
import type { Body, Outcome, Sink } from '../core/types.ts'
import type { HeaderFields } from '../core/head.ts'

export interface WholeBodyOwner {
  onBody(bytes: Buffer): void
  /** It is longer than allowed: at least so many bytes. */
  onTooLarge(bytes: number): void
  /** Too much of others' is being read. */
  onNoRoom(): void
}

export interface WholeBodyBounds {
  readonly maxBytes: number
  /** null where each is small: only what the process may hold bounds them all. */
  readonly sharedBudget: ByteBudget | null
}

export class WholeBodyReader implements Sink {
  readonly #body: Body
  readonly #bounds: WholeBodyBounds
  readonly #owner: WholeBodyOwner
  readonly #pile = new ByteBuffer()
  #state: 'reading' | 'over' = 'reading'

  constructor(body: Body, bounds: WholeBodyBounds, owner: WholeBodyOwner) {
    this.#body = body
    this.#bounds = bounds
    this.#owner = owner
  }

  start(): void {
    const { length } = this.#body
    if (length <= this.#bounds.maxBytes) return this.#body.start(this, 'content')
    this.#state = 'over'
    this.#owner.onTooLarge(length)
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'over') return true
    const { maxBytes } = this.#bounds
    const size = this.#pile.length + to - from
    if (size > maxBytes) {
      this.#finish()
      this.#owner.onTooLarge(size)
    } else if (this.#take(to - from)) this.#pile.append(bytes, from, to)
    else {
      this.#finish()
      this.#owner.onNoRoom()
    }
    return true
  }

  end(_trailers: HeaderFields | null): void {
    if (this.#state === 'reading') this.#owner.onBody(this.#finish())
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
    const { sharedBudget } = this.#bounds
    if (sharedBudget === null) bytesInFlight.retained -= this.#pile.length
    else sharedBudget.release(this.#pile.length)
    return this.#pile.take()
  }

  #take(bytes: number): boolean {
    const { sharedBudget } = this.#bounds
    if (sharedBudget !== null) return sharedBudget.tryReserve(bytes)
    bytesInFlight.retained += bytes
    return true
  }
}

/** The same as a promise; null for one that is too large. Of a client that left nothing is heard any more. */
export function readWholeBody(exchange: Exchange, limit: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const outer = exchange.pendingCall
    const call = { cancel: () => reader.abandon() }
    const over = (bytes: Buffer | null): void => {
      if (exchange.pendingCall === call) exchange.pendingCall = outer
      resolve(bytes)
    }
    const reader = new WholeBodyReader(
      exchange.body,
      { maxBytes: limit, sharedBudget: null },
      { onBody: over, onTooLarge: () => over(null), onNoRoom: () => over(null) },
    )
    exchange.pendingCall = call
    reader.start()
  })
}
