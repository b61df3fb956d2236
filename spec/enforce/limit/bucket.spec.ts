import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Bucket } from '../../../lib/enforce/limit/bucket.ts'

const filling = suite('bucket')

/** Five per minute; the first window starts at 1000. */
const FIVE = { maxLevel: 5, amount: 5, interval: 60_000, anchor: 1000 }
/** The same with a burst of three. */
const BURST = { ...FIVE, maxLevel: 8 }
const MINUTE = 60_000

/** How many requests in a row pass. */
function drained(bucket: Bucket, now: number): number {
  let count = 0
  while (bucket.take(now)) count++
  return count
}

filling('starts full', () => {
  assert.is(new Bucket(FIVE, 1000).remaining(1000), 5)
  assert.is(drained(new Bucket(BURST, 1000), 1000), 8)
})

filling('passes requests until it is empty, and takes nothing for refused ones', () => {
  const bucket = new Bucket(FIVE, 1000)
  const words = Array.from({ length: 8 }, () => bucket.take(2000))
  assert.equal(words, [true, true, true, true, true, false, false, false])
  assert.is(bucket.remaining(2000), 0)
  assert.is(drained(bucket, 1000 + MINUTE), 5)
})

filling('is refilled at the end of each interval after the anchor, and not in between', () => {
  const bucket = new Bucket(FIVE, 1000)
  drained(bucket, 59_000)
  assert.is(bucket.remaining(1000 + MINUTE - 1), 0)
  assert.is(bucket.remaining(1000 + MINUTE), 5)
})

filling('counts windows from the anchor, not from its first use', () => {
  const bucket = new Bucket(FIVE, 1000 + MINUTE - 5)
  assert.is(drained(bucket, 1000 + MINUTE - 5), 5)
  assert.is(drained(bucket, 1000 + MINUTE), 5)
})

filling('without a burst is a fixed window, also after a long idle time', () => {
  const bucket = new Bucket(FIVE, 1000)
  assert.is(drained(bucket, 1000), 5)
  assert.is(drained(bucket, 1000 + 10 * MINUTE), 5)
})

filling('with a burst gets the amount for each interval, up to its maximum', () => {
  const bucket = new Bucket(BURST, 1000)
  assert.is(drained(bucket, 1000), 8)
  assert.is(drained(bucket, 1000 + MINUTE), 5)
  assert.is(drained(bucket, 1000 + 3 * MINUTE), 8)
})

filling('takes more tokens than remain, and is then closed until the window ends', () => {
  const bucket = new Bucket(FIVE, 1000)
  assert.ok(bucket.isOpen(1000))
  bucket.spend(100, 1000)
  assert.not.ok(bucket.isOpen(1000 + MINUTE - 1))
  assert.is(bucket.remaining(1000), 0)
  assert.ok(bucket.isOpen(1000 + MINUTE))
  assert.is(bucket.remaining(1000 + MINUTE), 5)
})

filling('is open while anything remains', () => {
  const bucket = new Bucket(FIVE, 1000)
  bucket.spend(4.75, 1000)
  assert.ok(bucket.isOpen(1000))
  assert.is(bucket.remaining(1000), 0)
  bucket.spend(0.25, 1000)
  assert.not.ok(bucket.isOpen(1000))
})

filling('applies a refund to a negative level first', () => {
  const bucket = new Bucket(FIVE, 1000)
  bucket.spend(10, 1000)
  bucket.refund(4, 1000)
  assert.not.ok(bucket.isOpen(1000))
  bucket.refund(3, 1000)
  assert.is(bucket.remaining(1000), 2)
})

filling('resets a negative level when the window ends: overshoot is never carried over', () => {
  const bucket = new Bucket(BURST, 1000)
  bucket.spend(1_000_000, 1000)
  assert.is(bucket.remaining(1000 + MINUTE), 5)
})

filling('never exceeds its maximum', () => {
  const bucket = new Bucket(BURST, 1000)
  bucket.refund(1, 1000)
  assert.is(bucket.remaining(1000), 8)
  assert.is(bucket.remaining(1000 + 1_000_000 * MINUTE), 8)
})

filling('knows whether a refill has restored everything that could be refunded', () => {
  const bucket = new Bucket(BURST, 1000)
  const first = bucket.spend(6, 1000)
  assert.not.ok(bucket.hasCleared(first, 1000))
  // 2 + 5 of 8.
  assert.not.ok(bucket.hasCleared(first, 1000 + MINUTE))
  // 7 + 5: full.
  assert.ok(bucket.hasCleared(first, 1000 + 2 * MINUTE))
  const third = bucket.spend(9, 1000 + 2 * MINUTE)
  assert.not.ok(bucket.hasCleared(third, 1000 + 2 * MINUTE))
  // 0 + 5, with a negative level reset.
  assert.ok(bucket.hasCleared(third, 1000 + 3 * MINUTE))
})

filling('reports its limit, the remaining amount and the whole seconds to the next refill', () => {
  const bucket = new Bucket(BURST, 1000)
  bucket.take(1000)
  assert.equal(bucket.allowance(1000), { limit: 8, remaining: 7, reset: 60 })
  assert.is(bucket.allowance(1001).reset, 60)
  assert.is(bucket.allowance(2000).reset, 59)
  assert.is(bucket.allowance(1000 + MINUTE - 1).reset, 1)
  assert.equal(bucket.allowance(1000 + MINUTE), { limit: 8, remaining: 8, reset: 60 })
  bucket.spend(20, 1000 + MINUTE)
  assert.is(bucket.allowance(1000 + MINUTE).remaining, 0)
})

filling('never reports a reset in 0 seconds', () => {
  const bucket = new Bucket({ ...FIVE, interval: 100 }, 1000)
  for (let now = 1000; now < 1400; now++) assert.is(bucket.allowance(now).reset, 1)
})

filling('ignores a clock that goes back', () => {
  const bucket = new Bucket(FIVE, 1000)
  assert.is(drained(bucket, 1000 + MINUTE), 5)
  assert.is(bucket.remaining(1000), 0)
  assert.is(bucket.remaining(1000 + MINUTE), 0)
})

filling('counts up to the largest safe integer', () => {
  const maxLevel = Number.MAX_SAFE_INTEGER
  const bucket = new Bucket({ ...FIVE, maxLevel, amount: maxLevel }, 1000)
  bucket.spend(maxLevel, 1000)
  bucket.spend(maxLevel, 1000)
  assert.not.ok(bucket.isOpen(1000))
  assert.is(bucket.remaining(1000 + 1_000_000 * MINUTE), maxLevel)
})

filling.run()
