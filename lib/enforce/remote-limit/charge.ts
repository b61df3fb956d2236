// LLM tokens that a rate limit service counts: what a request cost beyond what was taken from it at admission is told to the
// service when it is known. That call lands in the window of its own time, as the protocol knows no other.

import { View } from '../../base/cel/view.ts'
import type { Exchange } from '../../base/exchange.ts'
import { soundTokens } from '../../base/limit/sound-tokens.ts'
import type { Charge, Cost } from '../../base/types.ts'
import type { RateLimitService } from './client.ts'
import type { Descriptor } from './codec.ts'
import { costOf } from './descriptors.ts'
import type { Counter } from './descriptors.ts'

/** Nobody waits for it. */
const SETTLE_TIMEOUT_MS = 5_000

/** Of each counter: as much as any request costs, so that a service with nothing left says no. */
const TAKEN = 1

/** Services count in 32 bits. */
const MAX_HITS = 2 ** 32 - 1

export type Taken = 'something' | 'nothing'

interface Charged {
  readonly domain: string
  readonly counters: readonly Counter[]
  readonly taken: Taken
}

/** What has a cost of its own may count something else than tokens: it is just looked at. */
export function admissionOf({ entries, limit, cost }: Counter): Descriptor {
  return { entries, limit, hits: cost === null ? TAKEN : 0 }
}

export class RemoteCharge implements Charge {
  readonly #service: RateLimitService
  readonly #exchange: Exchange
  readonly #charged: Charged
  #state: 'open' | 'settled' = 'open'

  constructor(service: RateLimitService, exchange: Exchange, charged: Charged) {
    this.#service = service
    this.#exchange = exchange
    this.#charged = charged
  }

  /** Estimates are not told to the service. */
  raise(): void {}

  settle({ input, output }: Cost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const total = Math.min(soundTokens(input) + soundTokens(output), MAX_HITS)
    // What reached no provider costs nothing; but the protocol has no way to give back what was taken.
    if (total === 0) return
    const { domain, counters } = this.#charged
    const descriptors = counters.flatMap((counter) => this.#rest(counter, total))
    // Whatever it answers, this request is over; the service itself tells of failures.
    if (descriptors.length > 0) this.#service.ask({ domain, descriptors }, SETTLE_TIMEOUT_MS)
  }

  #rest({ entries, limit, cost }: Counter, total: number): Descriptor[] {
    const exchange = this.#exchange
    const hits =
      cost === null
        ? total - (this.#charged.taken === 'something' ? TAKEN : 0)
        : costOf(cost, new View(exchange, exchange.facts ?? undefined))
    return hits === null || hits <= 0 ? [] : [{ entries, limit, hits }]
  }
}
