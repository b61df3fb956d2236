import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Shares } from '../../../lib/base/bounds/shares.ts'

const shares = suite('base/bounds/shares')

shares('counts what each has, and gives it back', () => {
  const some = new Shares()
  some.take('a')
  some.take('a', 3)
  some.take('b')
  assert.equal([some.of('a'), some.of('b'), some.of('c')], [4, 1, 0])
  some.give('a', 3)
  assert.is(some.of('a'), 1)
  some.give('a')
  some.give('a')
  assert.is(some.of('a'), 0)
})

shares.run()
