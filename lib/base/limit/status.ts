// How much of a limit is left just now, for whoever wants to look.

import type { LimitConfig } from '../config/limit-types.ts'
import type { Allowance } from '../types.ts'
import type { Decisions } from './decisions.ts'

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
  readonly decisions: Readonly<Decisions>
}
