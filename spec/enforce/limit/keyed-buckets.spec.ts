import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_LIMIT_KEYS } from '../../../lib/core/bounds.ts'
import { KeyedBuckets, createBucketCapacity } from '../../../lib/enforce/limit/keyed-buckets.ts'
import { MAX_STORED_KEY_LENGTH } from '../../../lib/enforce/limit/stored-key.ts'
import { fc } from '../../support/fast-check.ts'

const keyed = suite('keyed buckets')

const TERMS = { maxLevel: 3, amount: 3, interval: 1000, anchor: 0 }

/** Buckets of these keys, each with one request taken. */
function used(buckets: KeyedBuckets, ...keys: string[]): void {
  for (const key of keys) buckets.bucketFor(key, 0).take(0)
}

keyed('gives each key its own full bucket, and the same one each time', () => {
  const buckets = new KeyedBuckets(TERMS)
  used(buckets, 'a', 'a', 'b')
  assert.is(buckets.bucketFor('a', 0).remaining(0), 1)
  assert.is(buckets.bucketFor('b', 0).remaining(0), 2)
  assert.is(buckets.bucketFor('c', 0).remaining(0), 3)
  assert.is(buckets.bucketFor('a', 0), buckets.bucketFor('a', 0))
  assert.is(buckets.size, 3)
})

keyed('ends the windows of all keys together, no matter when they were added', () => {
  const buckets = new KeyedBuckets(TERMS)
  buckets.bucketFor('early', 0).spend(3, 0)
  buckets.bucketFor('late', 999).spend(3, 999)
  assert.is(buckets.bucketFor('early', 999).remaining(999), 0)
  assert.is(buckets.bucketFor('early', 1000).remaining(1000), 3)
  assert.is(buckets.bucketFor('late', 1000).remaining(1000), 3)
})

keyed('keeps 65,536 buckets, and evicts the least recently used', () => {
  assert.is(MAX_LIMIT_KEYS, 65_536)
  const buckets = new KeyedBuckets(TERMS)
  for (let at = 0; at < MAX_LIMIT_KEYS; at++) used(buckets, `k${at}`)
  used(buckets, 'k0', 'k3')
  used(buckets, 'new')
  assert.is(buckets.size, MAX_LIMIT_KEYS)
  for (const key of ['k2', 'k65535', 'new'])
    assert.is(buckets.bucketFor(key, 0).remaining(0), 2, key)
  for (const key of ['k0', 'k3']) assert.is(buckets.bucketFor(key, 0).remaining(0), 1, key)
  assert.is(buckets.bucketFor('k1', 0).remaining(0), 3)
})

keyed('starts an evicted key with a full bucket', () => {
  const buckets = new KeyedBuckets(TERMS, createBucketCapacity(2))
  used(buckets, 'a', 'a', 'b', 'c')
  assert.is(buckets.bucketFor('a', 0).remaining(0), 3)
})

keyed('counts evicted buckets that were not full, and not those whose window has ended', () => {
  const room = createBucketCapacity(2)
  const buckets = new KeyedBuckets(TERMS, room)
  used(buckets, 'a', 'b')
  assert.is(room.evicted, 0)
  used(buckets, 'c')
  assert.is(room.evicted, 1)
  buckets.bucketFor('d', 1000).take(1000)
  buckets.bucketFor('e', 1000).take(1000)
  assert.is(room.evicted, 1)
  buckets.bucketFor('f', 1000)
  assert.is(room.evicted, 2)
})

keyed('shrinks to a lowered bound step by step as new keys are added', () => {
  const room = createBucketCapacity(6)
  const buckets = new KeyedBuckets(TERMS, room)
  used(buckets, 'a', 'b', 'c', 'd', 'e', 'f')
  room.maxBuckets = 3
  const sizes = ['g', 'h', 'i', 'j'].map((key) => {
    used(buckets, key)
    return buckets.size
  })
  assert.equal(sizes, [5, 4, 3, 3])
  assert.is(buckets.bucketFor('h', 0).remaining(0), 2)
})

keyed('evicts in any order of use', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
  const room = fc.integer({ min: 1, max: 6 })
  fc.assert(
    fc.property(room, fc.array(key, { maxLength: 50 }), (maxBuckets, keys) => {
      const buckets = new KeyedBuckets(TERMS, createBucketCapacity(maxBuckets))
      let kept: string[] = []
      for (const one of keys) {
        buckets.bucketFor(one, 0)
        kept = [...kept.filter((other) => other !== one), one].slice(-maxBuckets)
        const found = buckets.tightest(10, 0).map((bucket) => bucket.key)
        assert.equal(found.sort(), [...kept].sort())
        assert.is(buckets.size, kept.length)
      }
    }),
    { numRuns: 2000 },
  )
})

keyed('evicts in constant time, with any number of keys', () => {
  const buckets = new KeyedBuckets(TERMS)
  for (let at = 0; at < MAX_LIMIT_KEYS; at++) buckets.bucketFor(`k${at}`, 0)
  const started = process.cpuUsage()
  for (let at = 0; at < 100_000; at++) buckets.bucketFor(`n${at}`, 0)
  const { user, system } = process.cpuUsage(started)
  // A search for the oldest key after all deleted ones would take 4 s.
  assert.ok(user + system < 1_500_000, `${user + system} us`)
})

keyed('stores only the hash of a long key, and tells two of them apart', () => {
  const buckets = new KeyedBuckets(TERMS)
  const kept = 'k'.repeat(MAX_STORED_KEY_LENGTH)
  used(buckets, kept, `${kept}1`, `${kept}1`, `${kept}2`)
  assert.is(buckets.bucketFor(kept, 0).remaining(0), 2)
  assert.is(buckets.bucketFor(`${kept}1`, 0).remaining(0), 1)
  assert.is(buckets.bucketFor(`${kept}2`, 0).remaining(0), 2)
  const names = buckets.tightest(3, 0).map(({ key }) => key)
  assert.ok(names.includes(kept))
  assert.is(names.filter((name) => /^[A-Za-z0-9+/]{43}=$/.test(name)).length, 2)
})

keyed('finds a key with any characters', () => {
  const buckets = new KeyedBuckets(TERMS)
  const names = ['ü', '日本', '😀', 'a\ud800b', '\udc00', '\0', 'a\u0300', 'à', ' a', 'a ']
  used(buckets, ...names, ...names)
  assert.is(buckets.size, names.length)
  for (const name of names)
    assert.is(buckets.bucketFor(name, 0).remaining(0), 1, JSON.stringify(name))
})

keyed('does not keep the text in memory from which its keys were sliced', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const buckets = new KeyedBuckets(TERMS)
  const before = heap()
  for (let at = 0; at < 2000; at++) {
    const head = Buffer.alloc(32_768, `${at} `).toString('latin1')
    buckets.bucketFor(head.substring(0, 36), 0)
  }
  const grown = heap() - before
  // The heads are 65 MB.
  assert.ok(grown < 10_000_000, `${grown} bytes`)
  assert.is(buckets.size, 2000)
})

keyed('lists the tightest buckets first, and of two equal ones the one used last', () => {
  const buckets = new KeyedBuckets(TERMS)
  used(buckets, 'a', 'b', 'b', 'b', 'c', 'c', 'd', 'd')
  buckets.bucketFor('full', 0)
  assert.equal(buckets.tightest(3, 0), [
    { key: 'b', remaining: 0 },
    { key: 'd', remaining: 1 },
    { key: 'c', remaining: 1 },
  ])
  assert.is(buckets.tightest(100, 0).length, 5)
  assert.equal(buckets.tightest(1, 1000), [{ key: 'full', remaining: 3 }])
})

keyed('inspects only the most recently used buckets if asked to', () => {
  const buckets = new KeyedBuckets(TERMS)
  used(buckets, 'a', 'a', 'a', 'b', 'c', 'd')
  const names = (among: number) => buckets.tightest(2, 0, among).map(({ key }) => key)
  assert.equal(names(4), ['a', 'd'])
  assert.equal(names(3), ['d', 'c'])
  assert.equal(names(1), ['d'])
  assert.equal(names(0), [])
})

keyed.run()
