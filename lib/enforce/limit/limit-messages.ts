// The messages between workers and the process that owns their shared limits, sent as JSON.

import type { TokenCost, TokenEstimate } from '../../core/types.ts'

/** A worker sends a `LimitBatch`; the owner answers with a `LimitAnswer` for each `take` and `admit`, in order. */
export const ASK_LIMITS = 'limits.ask'

/** A worker sends a `LimitReadRequest`; the owner answers with a `LimitReading` for each limit the worker declared. */
export const READ_LIMITS = 'limits.look'

/** A limit by the number that the worker assigned, and the value of its key; null for a limit without a key. */
export type BucketRef = readonly [limit: number, key: string | null]

/** Declares a limit to the owner before this worker first uses its number. */
export interface LimitDeclaration {
  readonly number: number
  /** The same in every worker for the same configuration. */
  readonly id: string
  readonly most: number
  readonly amount: number
  /** Milliseconds. */
  readonly interval: number
  readonly buckets: 'one' | 'by key'
}

export type LimitOperation =
  /** Takes one request of each limit, in order, until one denies. Has an answer. */
  | { readonly do: 'take'; readonly at: readonly BucketRef[] }
  /** Takes tokens of each limit if all are open, as one charge. Has an answer. */
  | {
      readonly do: 'admit'
      readonly at: readonly BucketRef[]
      readonly charge: number
      readonly estimate: TokenEstimate
    }
  | { readonly do: 'raise'; readonly charge: number; readonly estimate: TokenEstimate }
  | {
      readonly do: 'settle'
      readonly charge: number
      readonly cost: TokenCost
    }
  /** Lists all limits that this worker still uses. */
  | { readonly do: 'keep'; readonly limits: readonly number[] }

export interface LimitBatch {
  readonly named: readonly LimitDeclaration[]
  readonly steps: readonly LimitOperation[]
}

/** The state of one limit; `reset` in whole seconds. */
export type RemainingQuota = readonly [remaining: number, reset: number]

/** The decision, and the remaining quota of each limit that was checked. null: the owner cannot decide. */
export type LimitAnswer = {
  readonly decision: 'allow' | 'deny'
  readonly left: readonly RemainingQuota[]
} | null

export interface LimitReadRequest {
  /** Maximum number of keys of each limit to return, and to inspect. */
  readonly most: number
  readonly among: number
}

export interface LimitReading {
  readonly number: number
  readonly keys: number
  readonly shared: RemainingQuota
  readonly tightest: readonly { readonly key: string; readonly remaining: number }[]
}
