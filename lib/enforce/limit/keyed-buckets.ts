// A bucket for each key. The one used longest ago goes when there are too many; a key that comes back starts full.

import { hash } from 'node:crypto'
import { MAX_LIMIT_KEYS } from '../../core/bounds.ts'
import { Bucket } from './bucket.ts'
import type { BucketTerms } from './bucket.ts'

/** Characters of a key that is kept as it is; of a longer one its hash is. */
export const MAX_STORED_KEY_LENGTH = 128

/** What all limits of a process have in common. */
export interface BucketCapacity {
  /** Buckets of one limit. */
  maxBuckets: number
  /** Buckets that went before their window had turned: what they had counted is not known any more. */
  evicted: number
}

export function createBucketCapacity(most = MAX_LIMIT_KEYS): BucketCapacity {
  return { maxBuckets: most, evicted: 0 }
}

/** For a bound that was lowered: a new key makes room for itself and for one of those above it. */
const GONE_AT_ONCE = 2

/** By what a bucket is found. */
export function storedKeyOf(key: string): string {
  return key.length > MAX_STORED_KEY_LENGTH ? hash('sha256', key, 'base64') : key
}

/**
 * Linked by use: a Map alone finds its oldest key only after all deleted ones, in 38 µs instead of 2. mnemonist's LRU map
 * is as fast, but takes 1.4 MB for each limit before its first key, and its bound cannot be lowered.
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
  readonly #room: BucketCapacity
  readonly #buckets = new Map<string, KeyedBucket>()
  #oldest: KeyedBucket | null = null
  #newest: KeyedBucket | null = null

  constructor(terms: BucketTerms, room = createBucketCapacity()) {
    this.#terms = terms
    this.#room = room
  }

  get size(): number {
    return this.#buckets.size
  }

  bucketFor(key: string, now: number): Bucket {
    const name = storedKeyOf(key)
    const known = this.#buckets.get(name)
    if (known === undefined) return this.#add(name, now)
    if (known !== this.#newest) {
      this.#unlink(known)
      this.#append(known)
    }
    return known
  }

  /** Those with the least left, the tightest first, among so many that were used last. */
  tightest(count: number, now: number, among = Infinity): { key: string; remaining: number }[] {
    const found: { key: string; remaining: number }[] = []
    let left = among
    for (let bucket = this.#newest; bucket !== null && left > 0; bucket = bucket.older) {
      left--
      const remaining = bucket.remaining(now)
      if (found.length === count && remaining >= found[count - 1]!.remaining) continue
      if (found.length === count) found.pop()
      const at = found.findIndex((one) => one.remaining > remaining)
      found.splice(at < 0 ? found.length : at, 0, { key: bucket.key, remaining })
    }
    return found
  }

  #add(name: string, now: number): Bucket {
    for (let gone = 0; gone < GONE_AT_ONCE && this.#buckets.size >= this.#room.maxBuckets; gone++)
      this.#forget(this.#oldest!, now)
    const bucket = new KeyedBucket(copyKey(name), this.#terms, now)
    this.#buckets.set(bucket.key, bucket)
    this.#append(bucket)
    return bucket
  }

  #forget(bucket: KeyedBucket, now: number): void {
    // A full one is as good as a new one.
    if (bucket.remaining(now) < this.#terms.most) this.#room.evicted++
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

/** A key is often a part of a head's text, all of which it would keep alive. Both bytes: no character may change. */
function copyKey(key: string): string {
  return Buffer.from(key, 'utf16le').toString('utf16le')
}
