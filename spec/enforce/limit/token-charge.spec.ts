import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Bucket } from '../../../lib/enforce/limit/bucket.ts'
import { CostHistory } from '../../../lib/enforce/limit/learned-costs.ts'
import { TokenCharge } from '../../../lib/enforce/limit/token-charge.ts'
import type { TokenCost } from '../../../lib/core/types.ts'
import { estimateFor } from '../../support/llm/estimates.ts'

const charging = suite('token charge')

function costOf(input: number, output = 0): TokenCost {
  return { input, output, basis: 'counted' }
}

/** A bucket of 100 per second by default, with a clock that is fixed at `time`. */
class Stage {
  time = 0
  readonly bucket: Bucket

  constructor(maxLevel = 100, amount = maxLevel) {
    this.bucket = new Bucket({ maxLevel, amount, interval: 1000, anchor: 0 }, 0)
  }

  charge(estimate: number): TokenCharge {
    const charge = new TokenCharge(new CostHistory('one'), this.bucket, () => this.time)
    charge.raise(estimateFor(estimate))
    return charge
  }

  get left(): number {
    return this.bucket.remaining(this.time)
  }
}

charging('takes the estimate, and settles with the real input and output', () => {
  const stage = new Stage()
  const dear = stage.charge(10)
  assert.is(stage.left, 90)
  dear.settle(costOf(20, 30))
  assert.is(stage.left, 50)
  const cheap = stage.charge(40)
  assert.is(stage.left, 10)
  cheap.settle(costOf(1, 2))
  assert.is(stage.left, 47)
  stage.charge(7).settle(costOf(3, 4))
  assert.is(stage.left, 40)
})

charging('settles once; later calls change nothing', () => {
  const stage = new Stage()
  const charge = stage.charge(10)
  charge.settle(costOf(20))
  charge.settle(costOf(90))
  charge.settle(costOf(0))
  charge.raise(estimateFor(50))
  assert.is(stage.left, 80)
})

charging('takes what a raise exceeds the one before', () => {
  const stage = new Stage()
  const charge = stage.charge(10)
  charge.raise(estimateFor(30))
  charge.raise(estimateFor(35))
  charge.raise(estimateFor(20))
  assert.is(stage.left, 65)
  charge.settle(costOf(12))
  assert.is(stage.left, 88)
})

charging('changes nothing when it settles with its own estimate', () => {
  const stage = new Stage()
  const charge = stage.charge(10)
  charge.raise(estimateFor(15))
  charge.settle({ input: 15, output: 0, basis: 'estimated' })
  assert.is(stage.left, 85)
})

charging('refunds nothing in a window that began full', () => {
  const stage = new Stage()
  const charge = stage.charge(90)
  stage.time = 1000
  stage.bucket.spend(60, stage.time)
  charge.settle(costOf(10))
  assert.is(stage.left, 40)
})

charging('refunds nothing after a window that was exhausted exactly', () => {
  const stage = new Stage()
  const charge = stage.charge(100)
  stage.time = 1000
  stage.charge(30)
  charge.settle(costOf(10))
  assert.is(stage.left, 70)
})

charging('refunds nothing in a window that began with a reset negative level', () => {
  const stage = new Stage(100, 10)
  const charge = stage.charge(90)
  stage.charge(50)
  stage.time = 1000
  assert.is(stage.left, 10)
  charge.settle(costOf(0))
  assert.is(stage.left, 10)
})

charging('refunds in a later window when no refill restored the tokens in between', () => {
  const stage = new Stage(100, 10)
  const charge = stage.charge(90)
  stage.time = 2000
  assert.is(stage.left, 30)
  charge.settle(costOf(50))
  assert.is(stage.left, 70)
})

charging('takes the missing tokens from the window in which it settles', () => {
  const stage = new Stage()
  const charge = stage.charge(10)
  stage.time = 5000
  charge.settle(costOf(70))
  assert.is(stage.left, 40)
})

charging('refunds what it took in this window, and no more', () => {
  const stage = new Stage()
  const charge = stage.charge(50)
  stage.time = 1000
  charge.raise(estimateFor(70))
  stage.charge(70)
  assert.is(stage.left, 10)
  charge.settle(costOf(10))
  assert.is(stage.left, 30)
})

charging('does not open an overdrawn bucket by the refund of another charge', () => {
  const stage = new Stage()
  const small = stage.charge(20)
  const large = stage.charge(20)
  large.settle(costOf(5000))
  assert.not.ok(stage.bucket.isOpen(stage.time))
  small.settle(costOf(0))
  assert.not.ok(stage.bucket.isOpen(stage.time))
  stage.time = 1000
  assert.is(stage.left, 100)
})

charging('counts invalid numbers as 0, and bounds large ones', () => {
  const stage = new Stage()
  stage.charge(NaN).settle(costOf(NaN, -5))
  stage.charge(-10).raise(estimateFor(-10))
  assert.is(stage.left, 100)
  stage.charge(1).settle(costOf(Infinity, Infinity))
  assert.is(stage.left, 0)
  assert.not.ok(stage.bucket.isOpen(stage.time))
  stage.time = 1000
  assert.is(stage.left, 100)
})

charging.run()
