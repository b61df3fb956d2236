// A bucket for each key of a limit. Over the bound the least recently used bucket is evicted; its key then starts full.

import { MAX_LIMIT_KEYS } from '../../core/bounds.ts'
import { Bucket } from './bucket.ts'
import type { BucketTerms } from './bucket.ts'
import { copyKey, storedKeyOf } from './stored-key.ts'

/** The bound and eviction count that all limits of a process share. */
export interface BucketCapacity {
  /** Maximum number of buckets of one limit. */
  maxBuckets: number
  /** Buckets that were evicted while not full: their counts are lost. */
  evicted: number
}

export function createBucketCapacity(maxBuckets = MAX_LIMIT_KEYS): BucketCapacity {
  return { maxBuckets, evicted: 0 }
}

/** Evictions per new key: the second one shrinks the map step by step after the bound was lowered. */
const EVICTIONS_PER_KEY = 2

/**
 * Linked in order of use: a Map alone finds its oldest key only after all deleted ones, in 38 µs instead of 2. mnemonist's
 * LRU map is as fast, but takes 1.4 MB for each limit before its first key, and its bound cannot be lowered.
 */
class KeyedBucket extends Bucket {
  readonly key: string
  older: KeyedBucket | null = null
  newer: KeyedBucket | null = null

  constructor(key: string, terms: BucketTerms, now: number) {
    super(terms, now)
    this.key = key
  }
}

export class KeyedBuckets {
  readonly #terms: BucketTerms
  readonly #capacity: BucketCapacity
  readonly #buckets = new Map<string, KeyedBucket>()
  #oldest: KeyedBucket | null = null
  #newest: KeyedBucket | null = null

  constructor(terms: BucketTerms, capacity = createBucketCapacity()) {
    this.#terms = terms
    this.#capacity = capacity
  }

  get size(): number {
    return this.#buckets.size
  }

  bucketFor(key: string, now: number): Bucket {
    const storedKey = storedKeyOf(key)
    const known = this.#buckets.get(storedKey)
    if (known === undefined) return this.#add(storedKey, now)
    if (known !== this.#newest) {
      this.#unlink(known)
      this.#append(known)
    }
    return known
  }

  /** Returns the `count` buckets with the least remaining, among the `among` most recently used. */
  tightest(count: number, now: number, among = Infinity): { key: string; remaining: number }[] {
    const found: { key: string; remaining: number }[] = []
    let toVisit = among
    for (let bucket = this.#newest; bucket !== null && toVisit > 0; bucket = bucket.older) {
      toVisit--
      const remaining = bucket.remaining(now)
      if (found.length === count && remaining >= found[count - 1]!.remaining) continue
      if (found.length === count) found.pop()
      const index = found.findIndex((other) => other.remaining > remaining)
      found.splice(index < 0 ? found.length : index, 0, { key: bucket.key, remaining })
    }
    return found
  }

  #add(storedKey: string, now: number): Bucket {
    const { maxBuckets } = this.#capacity
    for (let evicted = 0; evicted < EVICTIONS_PER_KEY; evicted++)
      if (this.#buckets.size >= maxBuckets) this.#evict(this.#oldest!, now)
    const bucket = new KeyedBucket(copyKey(storedKey), this.#terms, now)
    this.#buckets.set(bucket.key, bucket)
    this.#append(bucket)
    return bucket
  }

  #evict(bucket: KeyedBucket, now: number): void {
    // Nothing is lost with a full bucket: a new one is full too.
    if (bucket.remaining(now) < this.#terms.maxLevel) this.#capacity.evicted++
    this.#unlink(bucket)
    this.#buckets.delete(bucket.key)
  }

  #append(bucket: KeyedBucket): void {
    const newest = this.#newest
    bucket.older = newest
    bucket.newer = null
    if (newest === null) this.#oldest = bucket
    else newest.newer = bucket
    this.#newest = bucket
  }

  #unlink({ older, newer }: KeyedBucket): void {
    if (older === null) this.#oldest = newer
    else older.newer = newer
    if (newer === null) this.#newest = older
    else newer.older = older
  }
}
