// One configured rate limit with its buckets: one shared bucket, and one for each value of its key.

import { createDecisionCounts } from '../../config/limit-status.ts'
import type { LimitConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import { Bucket } from './bucket.ts'
import type { BucketTerms } from './bucket.ts'
import { KeyedBuckets } from './keyed-buckets.ts'
import type { BucketCapacity } from './keyed-buckets.ts'
import { CostHistory } from './learned-costs.ts'

export class LimitBuckets {
  /** The bucket of all requests, or of those without a key value. */
  readonly shared: Bucket
  /** null when the rule has no key. */
  readonly keyed: KeyedBuckets | null
  readonly costs: CostHistory

  constructor(terms: BucketTerms, buckets: 'one' | 'by key', capacity: BucketCapacity) {
    this.shared = new Bucket(terms, terms.anchor)
    this.keyed = buckets === 'one' ? null : new KeyedBuckets(terms, capacity)
    this.costs = new CostHistory(buckets)
  }

  /** §8: requests whose key is empty or has no value share a bucket and are not exempt. */
  bucketFor(key: string | null, now: number): Bucket {
    return key === null || this.keyed === null ? this.shared : this.keyed.bucketFor(key, now)
  }
}

/** A monotonic clock in whole milliseconds. */
export type MillisecondClock = () => number

export class RateLimitRule extends LimitBuckets {
  /** Unique, and the same as long as the configuration of the rule is the same. */
  readonly id: string
  #config: LimitConfig
  readonly now: MillisecondClock
  readonly decisions = createDecisionCounts()

  constructor(id: string, config: LimitConfig, now: MillisecondClock, capacity: BucketCapacity) {
    const { most, amount, interval, key } = config
    super(
      { maxLevel: most, amount, interval, anchor: now() },
      key === null ? 'one' : 'by key',
      capacity,
    )
    this.id = id
    this.#config = config
    this.now = now
  }

  get config(): LimitConfig {
    return this.#config
  }

  /** When a reload that moved the limit in its list has become active; nothing else of a rule changes. */
  rename(name: string): void {
    if (name !== this.#config.name) this.#config = { ...this.#config, name }
  }

  bucketForExchange(exchange: Exchange, now: number): Bucket {
    return this.keyed === null ? this.shared : this.bucketFor(this.keyForExchange(exchange), now)
  }

  keyForExchange(exchange: Exchange): string | null {
    return (
      this.config.key?.evaluateKey(new ExpressionView(exchange, exchange.facts ?? undefined)) ??
      null
    )
  }
}
