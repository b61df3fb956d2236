import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { findQueryValue } from '../../lib/choose/route-table.ts'

const conditions = suite('query parameters')

conditions('are form-decoded', () => {
  const table: [string, string, string | undefined][] = [
    ['a=1', 'a', '1'],
    ['b=2&a=1', 'a', '1'],
    ['a=1&a=2', 'a', '1'],
    ['aa=1', 'a', undefined],
    ['a', 'a', ''],
    ['a=', 'a', ''],
    ['a&b=1', 'a', ''],
    ['b&a=1', 'a', '1'],
    ['a=b=c', 'a', 'b=c'],
    ['&&a=1', 'a', '1'],
    ['a=x+y%20z', 'a', 'x y z'],
    ['%61=1', 'a', '1'],
    ['a=%', 'a', '%'],
    ['a=%C3%A9', 'a', 'é'],
    ['', 'a', undefined],
  ]
  for (const [query, name, expected] of table)
    assert.is(findQueryValue(query, name), expected, query)
})

conditions.run()
