// The state of a rate limit that the admin API and the web UI show, and its decision counters.

import type { Allowance } from '../core/types.ts'
import type { LimitConfig } from './policy-types.ts'

export interface LimitStatus {
  /** Unique; stays the same as long as the limit does not change. */
  readonly id: string
  /** Config path of the limit. */
  readonly name: string
  /** Key of the route or gateway whose traffic is counted. */
  readonly owner: string
  readonly counts: LimitConfig['counts']
  /** Requests or tokens added at the end of each interval. */
  readonly amount: number
  /** Capacity of the bucket. */
  readonly limit: number
  /** Milliseconds. */
  readonly interval: number
  /** null for one shared bucket. */
  readonly key: LimitConfig['key']
  /** Number of key values that have a bucket now. */
  readonly keys: number
  readonly shared: Allowance
  /** The key values with the lowest remaining amount. */
  readonly tightest: readonly { readonly key: string; readonly remaining: number }[]
  readonly decisions: Readonly<DecisionCounts>
}

/** Decisions of a limit; `failed` counts calls of a rate limit service that did not answer. */
export interface DecisionCounts {
  allow: number
  deny: number
  failed: number
}

export function createDecisionCounts(): DecisionCounts {
  return { allow: 0, deny: 0, failed: 0 }
}

/** Makes a token count safe for arithmetic: a provider may report any value, and NaN would block a bucket forever. */
export function sanitizeTokenCount(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER) : 0
}
