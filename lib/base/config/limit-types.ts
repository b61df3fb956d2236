// What checked rate limits mean.

import type { Expression } from '../cel/compile.ts'
import type { Endpoint } from './types.ts'

/** A limit as it was written, whichever names were used; its key is not compiled yet. */
export interface LimitShape {
  readonly counts: 'requests' | 'tokens'
  readonly amount: number
  readonly most: number
  readonly interval: number
  readonly key: string | null
}

/** A bucket, or one for each value of `key`. */
export interface LimitConfig {
  /** Where it was written, such as `routes[0].policies.rateLimit.local[0]`. */
  readonly name: string
  /** The policy resource it comes from; null for one that stands in its route. */
  readonly resource: string | null
  readonly counts: 'requests' | 'tokens'
  /** Added at the end of each interval. */
  readonly amount: number
  /** What a full bucket holds: the amount and the burst. */
  readonly most: number
  /** Milliseconds. */
  readonly interval: number
  /** null: one bucket for all. */
  readonly key: Expression | null
}

export interface RemoteLimitConfig {
  readonly endpoint: Endpoint
  readonly domain: string
  /** Milliseconds for an answer; null for the default. */
  readonly timeout: number | null
  readonly failureMode: 'failClosed' | 'failOpen'
  readonly descriptors: readonly RemoteDescriptor[]
}

export interface RemoteDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: Expression }[]
  readonly counts: 'requests' | 'tokens'
  readonly cost: Expression | null
  readonly limitOverride: Expression | null
}
