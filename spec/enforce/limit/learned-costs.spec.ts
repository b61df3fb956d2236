import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { TokenCost, TokenEstimate } from '../../../lib/core/types.ts'
import {
  CostHistory,
  MAX_LEARNED_MODELS,
  MAX_LEARNED_MODELS_PER_KEY,
  MIN_LEARNED_REQUESTS,
} from '../../../lib/enforce/limit/learned-costs.ts'
import type { LearningBucket } from '../../../lib/enforce/limit/learned-costs.ts'

const learning = suite('learned costs')

function estimateOf(input: number, more: Partial<TokenEstimate> = {}): TokenEstimate {
  return { model: 'm', input, output: 7, maxOutput: null, ...more }
}

function costOf(input: number, output: number, basis: TokenCost['basis'] = 'counted'): TokenCost {
  return { input, output, basis }
}

/** One rule with its buckets. */
class History {
  readonly bucket: LearningBucket = { learnedCosts: null }
  readonly costs: CostHistory

  constructor(buckets: 'one' | 'by key' = 'one') {
    this.costs = new CostHistory(buckets)
  }

  learn(
    estimate: TokenEstimate,
    cost: TokenCost,
    bucket = this.bucket,
    times = MIN_LEARNED_REQUESTS,
  ): void {
    for (let count = 0; count < times; count++) this.costs.learn(bucket, estimate, cost)
  }

  predict(estimate: TokenEstimate, bucket = this.bucket): number {
    return this.costs.predict(bucket, estimate)
  }
}

learning('uses the estimate until enough requests are known', () => {
  const history = new History()
  const estimate = estimateOf(20)
  history.learn(estimate, costOf(20, 5_000), history.bucket, MIN_LEARNED_REQUESTS - 1)
  assert.is(history.predict(estimate), 27)
  history.learn(estimate, costOf(20, 5_000), history.bucket, 1)
  assert.is(history.predict(estimate), 5_020)
})

learning('expects an answer of the average length, and no more than the request allows', () => {
  const history = new History()
  history.learn(estimateOf(20), costOf(20, 1_000), history.bucket, 2)
  history.learn(estimateOf(20), costOf(20, 3_000), history.bucket, 2)
  assert.is(history.predict(estimateOf(20)), 2_020)
  assert.is(history.predict(estimateOf(20, { maxOutput: 400 })), 420)
  assert.is(history.predict(estimateOf(900, { maxOutput: 4_000 })), 2_900)
})

learning('expects input in proportion to the body', () => {
  const history = new History()
  history.learn(estimateOf(1_000), costOf(800, 0))
  assert.is(history.predict(estimateOf(10_000)), 8_000)
})

learning('adds input that bodies do not show, and does not multiply it', () => {
  const history = new History()
  history.learn(estimateOf(20), costOf(10_020, 0))
  assert.is(history.predict(estimateOf(20)), 10_020)
  assert.is(history.predict(estimateOf(30_000)), 40_000)
})

learning('follows what requests cost now', () => {
  const history = new History()
  history.learn(estimateOf(20), costOf(20, 5_000), history.bucket, 100)
  history.learn(estimateOf(20), costOf(20, 100), history.bucket, 100)
  const expected = history.predict(estimateOf(20))
  assert.ok(expected > 119 && expected < 135, String(expected))
})

learning('is by model; requests without a model are one model', () => {
  const history = new History()
  history.learn(estimateOf(20), costOf(20, 5_000))
  history.learn(estimateOf(20, { model: null }), costOf(20, 300))
  assert.is(history.predict(estimateOf(20, { model: null })), 320)
  assert.is(history.predict(estimateOf(20)), 5_020)
})

learning('charges an unknown model what other unknown models cost', () => {
  const history = new History('by key')
  for (let at = 0; at < 200; at++)
    history.learn(estimateOf(20, { model: `m${at}` }), costOf(20, 5_000), history.bucket, 1)
  assert.is(history.predict(estimateOf(20, { model: 'another' })), 5_020)
  const fresh: LearningBucket = { learnedCosts: null }
  assert.is(history.predict(estimateOf(20, { model: 'another' }), fresh), 5_020)
})

learning('does not rely on a maximum that answers exceed, as with several choices', () => {
  const history = new History()
  history.learn(estimateOf(20, { maxOutput: 50 }), costOf(20, 5_000))
  assert.is(history.predict(estimateOf(20, { maxOutput: 50 })), 5_020)
})

learning('is by key, and a new key begins with what the rule knows', () => {
  const history = new History('by key')
  const [ada, bob]: LearningBucket[] = [{ learnedCosts: null }, { learnedCosts: null }]
  history.learn(estimateOf(20), costOf(20, 1_000), ada)
  assert.is(history.predict(estimateOf(20), bob), 1_020)
  history.learn(estimateOf(20), costOf(20, 100), bob, 200)
  assert.is(history.predict(estimateOf(20), ada), 1_020)
  assert.ok(history.predict(estimateOf(20), bob!) < 130)
})

learning('ignores refused requests, and those whose client left before the response', () => {
  const history = new History()
  history.learn(estimateOf(20), costOf(20, 1_000))
  for (const cost of [costOf(0, 0), costOf(20, 0, 'estimated')]) history.learn(estimateOf(20), cost)
  history.learn(estimateOf(0), costOf(9_000, 9_000))
  assert.is(history.predict(estimateOf(20)), 1_020)
})

learning('expects no more than a number', () => {
  const history = new History()
  history.learn(estimateOf(20), costOf(NaN, Infinity))
  history.learn(estimateOf(20), costOf(-5, 100))
  assert.ok(Number.isSafeInteger(history.predict(estimateOf(20))))
})

learning('remembers a bounded number of models, and those used last', () => {
  const history = new History('by key')
  for (let at = 0; at < 10_000; at++) {
    history.learn(estimateOf(20, { model: `m${at}` }), costOf(20, 1_000 + at))
    history.learn(estimateOf(20, { model: 'often' }), costOf(20, 500), history.bucket, 1)
  }
  assert.is(history.bucket.learnedCosts!.length, MAX_LEARNED_MODELS_PER_KEY)
  const fresh: LearningBucket = { learnedCosts: null }
  const known = Array.from({ length: 10_000 }, (_, at) => at).filter(
    (at) => history.predict(estimateOf(20, { model: `m${at}` }), fresh) === 1_020 + at,
  )
  // Without the entry for `often` and the one for unknown models.
  assert.is(known.length, MAX_LEARNED_MODELS - 2)
  assert.is(history.predict(estimateOf(20, { model: 'often' }), fresh), 520)
})

learning('stores of a long name only its hash', () => {
  const history = new History('by key')
  const model = 'm'.repeat(1_000)
  history.learn(estimateOf(20, { model }), costOf(20, 500))
  assert.is(history.predict(estimateOf(20, { model })), 520)
  assert.ok(history.bucket.learnedCosts![0]!.model.length < 64)
})

learning.run()
