// Models that refused `include_usage`: remembered by name, up to a bound.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_USAGE_REFUSALS,
  UsageOptionRefusals,
} from '../../../lib/forward/llm/provider-catalogue.ts'

const refusals = suite('refusals')

refusals('are reported once, and kept for each model', () => {
  const reported: string[] = []
  const known = new UsageOptionRefusals((model) => reported.push(model))
  for (const model of ['a', 'a', null, null]) known.add(model)
  assert.equal([known.has('a'), known.has(null), known.has('b')], [true, true, false])
  assert.equal(reported, ['a', ''])
})

refusals('are bounded: the model added first is removed', () => {
  const known = new UsageOptionRefusals(() => {})
  for (let at = 0; at <= MAX_USAGE_REFUSALS; at++) known.add(`m${at}`)
  assert.equal(
    [known.has('m0'), known.has('m1'), known.has(`m${MAX_USAGE_REFUSALS}`)],
    [false, true, true],
  )
})

refusals.run()
