// One limit of the configuration made live: a bucket that all share, or one for each value of its key.

import { createDecisionCounts } from '../../config/limit-status.ts'
import type { LimitConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import { Bucket } from './bucket.ts'
import type { BucketTerms } from './bucket.ts'
import { KeyedBuckets } from './keyed-buckets.ts'
import type { BucketCapacity } from './keyed-buckets.ts'

// The buckets of one limit: one that all share, and one for each key if it has keys.

export class LimitBuckets {
  /** For all requests, or for those without a key. */
  readonly shared: Bucket
  /** null: the rule has no key. */
  readonly keyed: KeyedBuckets | null

  constructor(terms: BucketTerms, buckets: 'one' | 'by key', room: BucketCapacity) {
    this.shared = new Bucket(terms, terms.anchor)
    this.keyed = buckets === 'one' ? null : new KeyedBuckets(terms, room)
  }

  /** §8: a key that is empty, or reads what is not there, shares a bucket and is not exempt. */
  bucketFor(key: string | null, now: number): Bucket {
    return key === null || this.keyed === null ? this.shared : this.keyed.bucketFor(key, now)
  }
}

/** Whole milliseconds that never go back. */
export type MillisecondClock = () => number

export class RateLimitRule extends LimitBuckets {
  /** Unlike that of any other, and the same as long as its words are. */
  readonly id: string
  readonly config: LimitConfig
  readonly now: MillisecondClock
  readonly decisions = createDecisionCounts()

  constructor(id: string, config: LimitConfig, now: MillisecondClock, room: BucketCapacity) {
    const { most, amount, interval, key } = config
    super({ most, amount, interval, anchor: now() }, key === null ? 'one' : 'by key', room)
    this.id = id
    this.config = config
    this.now = now
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
