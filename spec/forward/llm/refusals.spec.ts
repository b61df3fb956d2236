// Models that do not know the question for usage: remembered by name, and not without end.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_USAGE_REFUSALS,
  UsageOptionRefusals,
} from '../../../lib/forward/llm/provider-catalogue.ts'

const refusals = suite('refusals')

refusals('are told of once, and kept for each model by itself', () => {
  const told: string[] = []
  const known = new UsageOptionRefusals((model) => told.push(model))
  for (const model of ['a', 'a', null, null]) known.add(model)
  assert.equal([known.has('a'), known.has(null), known.has('b')], [true, true, false])
  assert.equal(told, ['a', ''])
})

refusals('are bounded: the one learnt first is forgotten', () => {
  const known = new UsageOptionRefusals(() => {})
  for (let at = 0; at <= MAX_USAGE_REFUSALS; at++) known.add(`m${at}`)
  assert.equal(
    [known.has('m0'), known.has('m1'), known.has(`m${MAX_USAGE_REFUSALS}`)],
    [false, true, true],
  )
})

refusals.run()
