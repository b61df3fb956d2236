// One budget: full at first, refilled in steps. Nothing runs in between: whoever looks at it turns it to the present.

import type { Allowance } from '../../core/types.ts'

/** What all buckets of a rule have in common; their windows turn together. Times are whole milliseconds. */
export interface BucketTerms {
  /** What a full bucket holds. */
  readonly most: number
  /** Added at the end of each window. */
  readonly amount: number
  readonly interval: number
  /** When the first window began. */
  readonly anchor: number
}

export class Bucket {
  readonly #terms: BucketTerms
  /**
   * Below zero inside a window when more was used than was left: were it held at zero, what one request gives back
   * would open again what another has overdrawn.
   */
  #level: number
  /** The window it was last looked at, counted from the anchor. */
  #window: number
  /** The last window that began with a clean slate: full, or with a debt forgiven. */
  #cleanAt: number

  constructor(terms: BucketTerms, now: number) {
    this.#terms = terms
    this.#level = terms.most
    this.#window = windowAt(terms, now)
    this.#cleanAt = this.#window
  }

  /** Takes one request, or nothing. */
  take(now: number): boolean {
    this.#turn(now)
    if (this.#level < 1) return false
    this.#level -= 1
    return true
  }

  /** Whether an LLM request may pass: however little is left, the one that overshoots succeeds (§8). */
  isOpen(now: number): boolean {
    this.#turn(now)
    return this.#level > 0
  }

  /** Takes tokens whether they are there or not; gives the window they were taken in. */
  spend(tokens: number, now: number): number {
    this.#turn(now)
    this.#level -= tokens
    return this.#window
  }

  /** Gives back tokens that were taken in this window, or one before it. */
  refund(tokens: number, now: number): void {
    this.#turn(now)
    this.#level = Math.min(this.#terms.most, this.#level + tokens)
  }

  /** Whether a refill since that window has given all that could be given back of it. */
  hasCleared(window: number, now: number): boolean {
    this.#turn(now)
    return this.#cleanAt > window
  }

  /** What is left, whole. */
  remaining(now: number): number {
    this.#turn(now)
    return Math.max(0, Math.floor(this.#level))
  }

  allowance(now: number): Allowance {
    const remaining = this.remaining(now)
    const { most, anchor, interval } = this.#terms
    const next = anchor + (this.#window + 1) * interval
    return { limit: most, remaining, reset: Math.max(1, Math.ceil((next - now) / 1000)) }
  }

  #turn(now: number): void {
    const window = windowAt(this.#terms, now)
    const turns = window - this.#window
    if (turns <= 0) return
    const { most, amount } = this.#terms
    const filled = Math.max(0, this.#level) + amount * turns
    if (this.#level < 0 || filled >= most) this.#cleanAt = window
    this.#level = Math.min(most, filled)
    this.#window = window
  }
}

function windowAt({ anchor, interval }: BucketTerms, now: number): number {
  return Math.floor((now - anchor) / interval)
}
