// One limit of the configuration made live: a bucket that all share, or one for each value of its key.

import { View } from '../cel/view.ts'
import type { LimitConfig } from '../config/limit-types.ts'
import type { Exchange } from '../exchange.ts'
import { Bucket } from './bucket.ts'
import { noDecisions } from './decisions.ts'
import { KeyedBuckets } from './keyed-buckets.ts'

/** Whole milliseconds that never go back. */
export type Clock = () => number

export class Rule {
  readonly config: LimitConfig
  readonly now: Clock
  /** For all requests, or for those without a key. */
  readonly shared: Bucket
  /** null: the rule has no key. */
  readonly keyed: KeyedBuckets | null
  readonly decisions = noDecisions()

  constructor(config: LimitConfig, now: Clock) {
    const { most, amount, interval, key } = config
    const anchor = now()
    const terms = { most, amount, interval, anchor }
    this.config = config
    this.now = now
    this.shared = new Bucket(terms, anchor)
    this.keyed = key === null ? null : new KeyedBuckets(terms)
  }

  /** §8: a key that is empty, or reads what is not there, shares a bucket and is not exempt. */
  bucketOf(exchange: Exchange, now: number): Bucket {
    const { keyed } = this
    const { key } = this.config
    if (keyed === null || key === null) return this.shared
    const value = key.keyOf(new View(exchange, exchange.facts ?? undefined))
    return value === null ? this.shared : keyed.of(value, now)
  }
}
