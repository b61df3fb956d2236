// The tokens that one request has taken from a bucket before its real usage is known. A charge starts at zero: the first
// raise takes what similar requests cost before, and `settle` corrects it and adds the cost to that experience.

import type { Charge, TokenCost, TokenEstimate } from '../../core/types.ts'
import type { Bucket } from './bucket.ts'
import type { CostHistory } from './learned-costs.ts'
import type { MillisecondClock } from './limit-rule.ts'
import { sanitizeTokenCount } from '../../config/limit-status.ts'

export class TokenCharge implements Charge {
  readonly #costs: CostHistory
  readonly #bucket: Bucket
  readonly #now: MillisecondClock
  #state: 'open' | 'settled' = 'open'
  #estimate: TokenEstimate | null = null
  #taken = 0
  /** The refundable part: tokens can only be returned in the window in which they were taken. */
  #returnable = 0
  /** The last window in which tokens were taken. */
  #window = -1

  constructor(costs: CostHistory, bucket: Bucket, now: MillisecondClock) {
    this.#costs = costs
    this.#bucket = bucket
    this.#now = now
  }

  /** A later estimate replaces the earlier one; what it exceeds is taken. */
  raise(estimate: TokenEstimate): void {
    if (this.#state === 'settled') return
    this.#estimate = estimate
    const more = sanitizeTokenCount(this.#costs.predict(this.#bucket, estimate) - this.#taken)
    const now = this.#now()
    if (this.#bucket.hasCleared(this.#window, now)) this.#returnable = 0
    this.#window = this.#bucket.spend(more, now)
    this.#returnable += more
    this.#taken += more
  }

  settle(cost: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const now = this.#now()
    const missing = sanitizeTokenCount(cost.input) + sanitizeTokenCount(cost.output) - this.#taken
    if (missing > 0) this.#bucket.spend(missing, now)
    else if (!this.#bucket.hasCleared(this.#window, now))
      this.#bucket.refund(Math.min(-missing, this.#returnable), now)
    if (this.#estimate !== null) this.#costs.learn(this.#bucket, this.#estimate, cost)
  }
}
