// LLM tokens that a rate limit service counts: what a request cost beyond what was taken from it at admission is told to the
// service when it is known. That call lands in the window of its own time, as the protocol knows no other.

import { View } from '../../base/cel/view.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { Charge, Cost } from '../../base/types.ts'
import type { RateLimitService } from './client.ts'
import type { Descriptor } from './codec.ts'
import { costOf } from './descriptors.ts'
import type { Counter } from './descriptors.ts'

/** Nobody waits for it. */
const SETTLE_TIMEOUT_MS = 5_000

export interface Taken {
  readonly domain: string
  readonly counters: readonly Counter[]
  /** From each of those without a cost of their own. */
  readonly tokens: number
}

export class RemoteCharge implements Charge {
  readonly #service: RateLimitService
  readonly #exchange: Exchange
  readonly #taken: Taken
  #state: 'open' | 'settled' = 'open'

  constructor(service: RateLimitService, exchange: Exchange, taken: Taken) {
    this.#service = service
    this.#exchange = exchange
    this.#taken = taken
  }

  /** Not worth a call of its own: `settle` goes by what was really sent. */
  raise(): void {}

  settle({ input, output }: Cost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const total = countOf(input) + countOf(output)
    // What reached no provider costs nothing; but the protocol has no way to give back what was taken.
    if (total === 0) return
    const { domain, counters } = this.#taken
    const descriptors = counters.flatMap((counter) => this.#rest(counter, total))
    // Whatever it answers, this request is over; the service itself tells of failures.
    if (descriptors.length > 0) this.#service.ask({ domain, descriptors }, SETTLE_TIMEOUT_MS)
  }

  #rest({ entries, limit, cost }: Counter, total: number): Descriptor[] {
    const exchange = this.#exchange
    const hits =
      cost === null
        ? total - this.#taken.tokens
        : costOf(cost, new View(exchange, exchange.facts ?? undefined))
    return hits === null || hits <= 0 ? [] : [{ entries, limit, hits }]
  }
}

/** A provider may say anything. */
function countOf(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), 2 ** 32 - 1) : 0
}
