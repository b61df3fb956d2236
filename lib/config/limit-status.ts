// How much of a limit is left just now, for whoever wants to look.

import type { Allowance } from '../core/types.ts'
import type { LimitConfig } from './policy-types.ts'

export interface LimitStatus {
  /** Unlike that of any other, and the same as long as the limit is the same. */
  readonly id: string
  /** Where it is written. */
  readonly name: string
  /** The route or gateway whose traffic it counts. */
  readonly owner: string
  readonly counts: LimitConfig['counts']
  /** Added at the end of each interval. */
  readonly amount: number
  /** What a full bucket holds. */
  readonly limit: number
  /** Milliseconds. */
  readonly interval: number
  /** What tells buckets apart; null for one bucket. */
  readonly key: LimitConfig['key']
  /** How many of its values have a bucket now. */
  readonly keys: number
  readonly shared: Allowance
  /** Those with the least left. */
  readonly tightest: readonly { readonly key: string; readonly remaining: number }[]
  readonly decisions: Readonly<DecisionCounts>
}

// How often a limit said yes and no; `failed`: it could not be asked.

export interface DecisionCounts {
  allow: number
  deny: number
  failed: number
}

export function createDecisionCounts(): DecisionCounts {
  return { allow: 0, deny: 0, failed: 0 }
}

// A count of tokens that can be reckoned with: a provider may say anything, and a bucket that is no number would stay shut
// for ever.

export function sanitizeTokenCount(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER) : 0
}
