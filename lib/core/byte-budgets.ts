// Counts of bytes that the process holds for requests, budgets for them, and the check for too many.

import { GatewayError } from './errors.ts'

export class ByteBudget {
  readonly maxBytes: number
  #remaining: number

  constructor(bytes: number) {
    this.maxBytes = bytes
    this.#remaining = bytes
  }

  get remaining(): number {
    return this.#remaining
  }

  get used(): number {
    return this.maxBytes - this.#remaining
  }

  /** Returns false and reserves nothing if fewer bytes remain. */
  tryReserve(bytes: number): boolean {
    if (bytes > this.#remaining) return false
    this.#remaining -= bytes
    bytesInFlight.retained += bytes
    return true
  }

  release(bytes: number): void {
    this.#remaining += bytes
    bytesInFlight.retained -= bytes
  }
}

/** Counts per key; a key whose count is 0 is removed. */
export class KeyedCounter {
  readonly #counts = new Map<string, number>()

  get(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, amount = 1): void {
    this.#counts.set(key, this.get(key) + amount)
  }

  subtract(key: string, amount = 1): void {
    const left = this.get(key) - amount
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
  }
}

/**
 * All bytes that the process holds for requests. Bytes that the kernel takes at once, or that are forwarded in the tick
 * in which they arrived, are not counted.
 */
class BytesInFlight {
  /** Written, and not yet taken by the peer. */
  unsent = 0
  /** Read, and not yet taken by a consumer. */
  unread = 0
  /** Of messages: until they are complete, for another attempt, or for a client that reconnects. */
  retained = 0

  get total(): number {
    return this.unsent + this.unread + this.retained
  }
}

export const bytesInFlight = new BytesInFlight()

/** The share of the maximum below which new requests are accepted again. */
const RELIEF_SHARE = 0.9

/** Whether the process holds so many bytes that it refuses new requests. */
export class MemoryPressure {
  readonly maxBytes: number
  readonly #reliefBytes: number
  #state: 'low' | 'high' = 'low'

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.#reliefBytes = Math.floor(maxBytes * RELIEF_SHARE)
  }

  /** Read for every request. */
  get isHigh(): boolean {
    const { total } = bytesInFlight
    if (total < this.#reliefBytes) this.#state = 'low'
    else if (total >= this.maxBytes) this.#state = 'high'
    return this.#state === 'high'
  }

  get overloadError(): GatewayError {
    return new GatewayError(
      'OVERLOADED',
      `too many bytes in flight: at most ${this.maxBytes} (config.maxBytesInFlight): try again later`,
      { limit: ['maxBytesInFlight', this.maxBytes] },
    )
  }
}
