// A token bucket that starts full and is refilled at the end of each window. There is no timer: every access first
// brings the bucket up to date.

import type { Allowance } from '../../core/types.ts'
import type { LearnedCost, LearningBucket } from './learned-costs.ts'

/** The parameters that all buckets of a rule share; their windows end together. Times are whole milliseconds. */
export interface BucketTerms {
  /** The level of a full bucket. */
  readonly maxLevel: number
  /** Added at the end of each window. */
  readonly amount: number
  readonly interval: number
  /** Start of the first window. */
  readonly anchor: number
}

export class Bucket implements LearningBucket {
  learnedCosts: LearnedCost[] | null = null
  readonly #terms: BucketTerms
  /**
   * Negative within a window when more was used than remained: with a minimum of zero, the refund of one request would
   * reopen a bucket that another request has overdrawn.
   */
  #level: number
  /** The window of the last access, counted from the anchor. */
  #window: number
  /** The last window that began full, or in which a negative level was reset. */
  #clearedAt: number

  constructor(terms: BucketTerms, now: number) {
    this.#terms = terms
    this.#level = terms.maxLevel
    this.#window = windowAt(terms, now)
    this.#clearedAt = this.#window
  }

  /** Takes one request; returns false and takes nothing when less than one remains. */
  take(now: number): boolean {
    this.#advance(now)
    if (this.#level < 1) return false
    this.#level -= 1
    return true
  }

  /** Returns whether an LLM request may pass: with any budget left, the request that overshoots succeeds (§8). */
  isOpen(now: number): boolean {
    this.#advance(now)
    return this.#level > 0
  }

  /** Takes tokens even when fewer remain; returns the window in which they were taken. */
  spend(tokens: number, now: number): number {
    this.#advance(now)
    this.#level -= tokens
    return this.#window
  }

  /** Returns tokens that were taken in this window or an earlier one. */
  refund(tokens: number, now: number): void {
    this.#advance(now)
    this.#level = Math.min(this.#terms.maxLevel, this.#level + tokens)
  }

  /** Returns whether a refill after that window has already restored everything a refund could restore. */
  hasCleared(window: number, now: number): boolean {
    this.#advance(now)
    return this.#clearedAt > window
  }

  /** Returns the remaining amount as an integer, at least 0. */
  remaining(now: number): number {
    this.#advance(now)
    return Math.max(0, Math.floor(this.#level))
  }

  allowance(now: number): Allowance {
    const remaining = this.remaining(now)
    const { maxLevel, anchor, interval } = this.#terms
    const next = anchor + (this.#window + 1) * interval
    return { limit: maxLevel, remaining, reset: Math.max(1, Math.ceil((next - now) / 1000)) }
  }

  #advance(now: number): void {
    const window = windowAt(this.#terms, now)
    const elapsed = window - this.#window
    if (elapsed <= 0) return
    const { maxLevel, amount } = this.#terms
    const filled = Math.max(0, this.#level) + amount * elapsed
    if (this.#level < 0 || filled >= maxLevel) this.#clearedAt = window
    this.#level = Math.min(maxLevel, filled)
    this.#window = window
  }
}

function windowAt({ anchor, interval }: BucketTerms, now: number): number {
  return Math.floor((now - anchor) / interval)
}
