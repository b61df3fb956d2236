// Reads a whole body into memory, of a request or a response that can only be handled at its end: a JSON-RPC message, a
// form, a list of models. The size of each is bounded, and for some kinds also the memory of all of them together.

import type { ByteBudget } from '../core/byte-budgets.ts'
import { bytesInFlight } from '../core/byte-budgets.ts'
import type { Exchange } from '../core/exchange.ts'
import { ByteBuffer } from '../text/byte-buffer.ts'
import type { Body, Outcome, Sink } from '../core/types.ts'
import type { HeaderFields } from '../core/head.ts'

export interface WholeBodyOwner {
  onBody(bytes: Buffer): void
  /** The body is longer than allowed: at least `bytes`. */
  onTooLarge(bytes: number): void
  /** The shared budget is exhausted. */
  onNoRoom(): void
  /** The body was cut. Only for responses: a request is cut when its client is gone and the exchange has ended. */
  onCut?(): void
}

export interface WholeBodyBounds {
  readonly maxBytes: number
  /** Null for small bodies: only the limit of the process bounds all of them together. */
  readonly sharedBudget: ByteBudget | null
}

export class WholeBodyReader implements Sink {
  readonly #body: Body
  readonly #bounds: WholeBodyBounds
  readonly #owner: WholeBodyOwner
  readonly #buffer = new ByteBuffer()
  #state: 'reading' | 'done' = 'reading'

  constructor(body: Body, bounds: WholeBodyBounds, owner: WholeBodyOwner) {
    this.#body = body
    this.#bounds = bounds
    this.#owner = owner
  }

  start(): void {
    const { length } = this.#body
    if (length <= this.#bounds.maxBytes) return this.#body.start(this, 'content')
    this.#state = 'done'
    this.#owner.onTooLarge(length)
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'done') return true
    const { maxBytes } = this.#bounds
    const size = this.#buffer.length + to - from
    if (size > maxBytes) {
      this.#finish()
      this.#owner.onTooLarge(size)
    } else if (this.#reserve(to - from)) this.#buffer.append(bytes, from, to)
    else {
      this.#finish()
      this.#owner.onNoRoom()
    }
    return true
  }

  end(_trailers: HeaderFields | null): void {
    if (this.#state === 'reading') this.#owner.onBody(this.#finish())
  }

  cut(_outcome: Outcome): void {
    if (this.#state === 'done') return
    this.#finish()
    this.#owner.onCut?.()
  }

  /** The body is no longer needed. */
  abandon(): void {
    if (this.#state === 'reading') this.#finish()
  }

  /** Returns what was read and releases its share of the budget. */
  #finish(): Buffer {
    this.#state = 'done'
    const { sharedBudget } = this.#bounds
    if (sharedBudget === null) bytesInFlight.retained -= this.#buffer.length
    else sharedBudget.release(this.#buffer.length)
    return this.#buffer.take()
  }

  #reserve(bytes: number): boolean {
    const { sharedBudget } = this.#bounds
    if (sharedBudget !== null) return sharedBudget.tryReserve(bytes)
    bytesInFlight.retained += bytes
    return true
  }
}

/** The same as a promise; null if the body is too large. It never resolves if the client disconnects. */
export function readWholeBody(exchange: Exchange, limit: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const previousCall = exchange.pendingCall
    const call = { cancel: () => reader.abandon() }
    const finish = (bytes: Buffer | null): void => {
      if (exchange.pendingCall === call) exchange.pendingCall = previousCall
      resolve(bytes)
    }
    const reader = new WholeBodyReader(
      exchange.body,
      { maxBytes: limit, sharedBudget: null },
      { onBody: finish, onTooLarge: () => finish(null), onNoRoom: () => finish(null) },
    )
    exchange.pendingCall = call
    reader.start()
  })
}
