import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { KeyedCounter } from '../../lib/core/byte-budgets.ts'

const shares = suite('base/bounds/shares')

shares('counts what each has, and gives it back', () => {
  const some = new KeyedCounter()
  some.add('a')
  some.add('a', 3)
  some.add('b')
  assert.equal([some.get('a'), some.get('b'), some.get('c')], [4, 1, 0])
  some.subtract('a', 3)
  assert.is(some.get('a'), 1)
  some.subtract('a')
  some.subtract('a')
  assert.is(some.get('a'), 0)
})

shares.run()
