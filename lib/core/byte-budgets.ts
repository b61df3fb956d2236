// Bytes that many may hold together: each takes its share and gives it back.

import { GatewayError } from './errors.ts'

export class ByteBudget {
  readonly maxBytes: number
  #left: number

  constructor(bytes: number) {
    this.maxBytes = bytes
    this.#left = bytes
  }

  get remaining(): number {
    return this.#left
  }

  get used(): number {
    return this.maxBytes - this.#left
  }

  /** False when there is not so much left; nothing was taken then. */
  tryReserve(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    bytesInFlight.retained += bytes
    return true
  }

  release(bytes: number): void {
    this.#left += bytes
    bytesInFlight.retained -= bytes
  }
}

// How much each of many has of something of which nobody is to have all. Only those that have some are known here.

export class KeyedCounter {
  readonly #taken = new Map<string, number>()

  get(key: string): number {
    return this.#taken.get(key) ?? 0
  }

  add(key: string, amount = 1): void {
    this.#taken.set(key, this.get(key) + amount)
  }

  subtract(key: string, amount = 1): void {
    const left = this.get(key) - amount
    if (left > 0) this.#taken.set(key, left)
    else this.#taken.delete(key)
  }
}

// Bytes that the process holds for requests, one count for all of it as there is one memory. Only who really holds some
// touches it: what the kernel takes at once, and what is passed on in the tick in which it came, is not counted.

class BytesInFlight {
  /** Written, and not taken by the peer. */
  unsent = 0
  /** Read, and not taken by anybody. */
  unread = 0
  /** Of messages: until they are whole, for another try, or for a client that comes back. */
  retained = 0

  get total(): number {
    return this.unsent + this.unread + this.retained
  }
}

export const bytesInFlight = new BytesInFlight()

// Whether the process holds as much as it may: from then on new requests wait outside, until there is some room again.

/** Of all that may be held, where new requests are taken again. */
const RELIEVED = 0.9

export class MemoryPressure {
  readonly maxBytes: number
  readonly #relieved: number
  #state: 'low' | 'high' = 'low'

  constructor(most: number) {
    this.maxBytes = most
    this.#relieved = Math.floor(most * RELIEVED)
  }

  /** Asked for every request. */
  get isHigh(): boolean {
    const { total } = bytesInFlight
    if (total < this.#relieved) this.#state = 'low'
    else if (total >= this.maxBytes) this.#state = 'high'
    return this.#state === 'high'
  }

  get overloadError(): GatewayError {
    return new GatewayError(
      'OVERLOADED',
      `too much is in flight: at most ${this.maxBytes} bytes are held (config.maxBytesInFlight): try again later`,
      { limit: ['maxBytesInFlight', this.maxBytes] },
    )
  }
}
