import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { KeyedCounter } from '../../lib/core/byte-budgets.ts'

const counting = suite('keyed counter')

counting('counts per key, and never below 0', () => {
  const counter = new KeyedCounter()
  counter.add('a')
  counter.add('a', 3)
  counter.add('b')
  assert.equal([counter.get('a'), counter.get('b'), counter.get('c')], [4, 1, 0])
  counter.subtract('a', 3)
  assert.is(counter.get('a'), 1)
  counter.subtract('a')
  counter.subtract('a')
  assert.is(counter.get('a'), 0)
})

counting.run()
