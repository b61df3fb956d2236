import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { KEYS, KeyRing, LimitWork, PLENTY } from '../../perf/limit-work.ts'

const work = suite('perf limit work')

/** What the rule's shared bucket has lost. */
function spentBy({ rule }: LimitWork): number {
  return PLENTY - rule.shared.remaining(rule.now())
}

work('takes one request a time', () => {
  const requests = new LimitWork('requests')
  requests.once()
  requests.once()
  assert.is(spentBy(requests), 2)
  assert.is(requests.exchange.enforcement.allowance?.remaining, PLENTY - 2)
})

work('settles what an answer cost, not what was guessed', () => {
  const tokens = new LimitWork('tokens')
  tokens.once()
  tokens.once()
  assert.is(spentBy(tokens), 2 * 580)
  assert.is(tokens.exchange.enforcement.charges.length, 1)
})

work('uses every key once before it uses one again', () => {
  const keyed = new LimitWork('keyed')
  for (let at = 0; at < 1_024; at++) keyed.once()
  assert.is(keyed.rule.keyed?.size, 1_024)
  assert.is(spentBy(keyed), 0)
  const [tightest] = keyed.rule.keyed?.tightest(1, keyed.rule.now()) ?? []
  assert.is(tightest?.remaining, PLENTY - 580)
})

work('fills a rule with keys, and pushes them out', () => {
  const ring = new KeyRing()
  ring.fill(0, 10)
  assert.is(ring.rule.keyed?.size, 10)
  ring.fill(10, KEYS)
  assert.is(ring.rule.keyed?.size, KEYS)
})

work.run()
