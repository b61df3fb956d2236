// The buckets of one limit: one that all share, and one for each key if it has keys.

import { Bucket } from './bucket.ts'
import type { Terms } from './bucket.ts'
import { KeyedBuckets } from './keyed-buckets.ts'
import type { KeyRoom } from './keyed-buckets.ts'

export class RuleBuckets {
  /** For all requests, or for those without a key. */
  readonly shared: Bucket
  /** null: the rule has no key. */
  readonly keyed: KeyedBuckets | null

  constructor(terms: Terms, buckets: 'one' | 'by key', room: KeyRoom) {
    this.shared = new Bucket(terms, terms.anchor)
    this.keyed = buckets === 'one' ? null : new KeyedBuckets(terms, room)
  }

  /** §8: a key that is empty, or reads what is not there, shares a bucket and is not exempt. */
  of(key: string | null, now: number): Bucket {
    return key === null || this.keyed === null ? this.shared : this.keyed.of(key, now)
  }
}
