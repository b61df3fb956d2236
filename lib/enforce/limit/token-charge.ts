// The tokens that one request has taken from a bucket before its real usage is known. A charge starts at zero: the
// estimate is the first raise, and `settle` corrects it.

import type { Charge, TokenCost, TokenEstimate } from '../../core/types.ts'
import type { Bucket } from './bucket.ts'
import type { CostHistory } from './learned-costs.ts'
import type { MillisecondClock } from './limit-rule.ts'
import { sanitizeTokenCount } from '../../config/limit-status.ts'

export class TokenCharge {
  readonly #bucket: Bucket
  readonly #now: MillisecondClock
  #state: 'open' | 'settled' = 'open'
  #taken = 0
  /** The refundable part: tokens can only be returned in the window in which they were taken. */
  #returnable = 0
  /** The last window in which tokens were taken. */
  #window = -1

  constructor(bucket: Bucket, now: MillisecondClock) {
    this.#bucket = bucket
    this.#now = now
  }

  get taken(): number {
    return this.#taken
  }

  raise(tokens: number): void {
    if (this.#state === 'settled') return
    const more = sanitizeTokenCount(tokens)
    const now = this.#now()
    if (this.#bucket.hasCleared(this.#window, now)) this.#returnable = 0
    this.#window = this.#bucket.spend(more, now)
    this.#returnable += more
    this.#taken += more
  }

  settle({ input, output }: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const now = this.#now()
    const missing = sanitizeTokenCount(input) + sanitizeTokenCount(output) - this.#taken
    if (missing > 0) this.#bucket.spend(missing, now)
    else if (!this.#bucket.hasCleared(this.#window, now))
      this.#bucket.refund(Math.min(-missing, this.#returnable), now)
  }
}

/** A charge that takes what similar requests cost before, and adds its own cost to that experience. */
export class LearningCharge implements Charge {
  readonly #costs: CostHistory
  readonly #bucket: Bucket
  readonly #charge: TokenCharge
  #estimate: TokenEstimate | null = null
  #state: 'open' | 'settled' = 'open'

  constructor(costs: CostHistory, bucket: Bucket, now: MillisecondClock) {
    this.#costs = costs
    this.#bucket = bucket
    this.#charge = new TokenCharge(bucket, now)
  }

  raise(estimate: TokenEstimate): void {
    if (this.#state === 'settled') return
    this.#estimate = estimate
    this.#charge.raise(this.#costs.predict(this.#bucket, estimate) - this.#charge.taken)
  }

  settle(cost: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    this.#charge.settle(cost)
    if (this.#estimate !== null) this.#costs.learn(this.#bucket, this.#estimate, cost)
  }
}
