// One limit of the configuration made live: a bucket that all share, or one for each value of its key.

import { View } from '../cel/view.ts'
import type { LimitConfig } from '../config/limit-types.ts'
import type { Exchange } from '../exchange.ts'
import type { Bucket } from './bucket.ts'
import { noDecisions } from './decisions.ts'
import type { KeyRoom } from './keyed-buckets.ts'
import { RuleBuckets } from './rule-buckets.ts'

/** Whole milliseconds that never go back. */
export type Clock = () => number

export class Rule extends RuleBuckets {
  /** Unlike that of any other, and the same as long as its words are. */
  readonly id: string
  readonly config: LimitConfig
  readonly now: Clock
  readonly decisions = noDecisions()

  constructor(id: string, config: LimitConfig, now: Clock, room: KeyRoom) {
    const { most, amount, interval, key } = config
    super({ most, amount, interval, anchor: now() }, key === null ? 'one' : 'by key', room)
    this.id = id
    this.config = config
    this.now = now
  }

  bucketOf(exchange: Exchange, now: number): Bucket {
    return this.keyed === null ? this.shared : this.of(this.keyOf(exchange), now)
  }

  keyOf(exchange: Exchange): string | null {
    return this.config.key?.keyOf(new View(exchange, exchange.facts ?? undefined)) ?? null
  }
}
