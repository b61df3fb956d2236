// Single values as YAML would write them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { scalarText } from '../../../lib/page/parts/data-tree.ts'

const scalar = suite('page/data-tree')

const PLAIN = [
  'a',
  'a b',
  '1s',
  '10.0.0.1:80',
  'http://a:80/b',
  'a-b',
  'a#b',
  'x = "y"',
  '1e',
  '3a',
]
const QUOTED = ['', ' a', 'a ', '1', '-1.5', '1e3', '0x1f', '.5', 'true', 'No', 'null', '~']
const SIGNS = ['- a', '# a', 'a: b', 'a #b', '*a', '&a', '[a', '{a', '"a', "'a", 'a:', '@a', '%a']

scalar('leaves texts that mean themselves without quotes', () => {
  for (const text of PLAIN) assert.is(scalarText(text), text)
})

scalar('quotes what would be read as something else', () => {
  for (const text of [...QUOTED, ...SIGNS]) assert.is(scalarText(text), JSON.stringify(text))
})

scalar('is read back as what it was', () => {
  for (const value of [...PLAIN, ...QUOTED, ...SIGNS, 1, -2.5, true, null, [], {}])
    assert.equal(parse(scalarText(value)), value)
})

scalar('leaves text of several lines unchanged', () => {
  assert.is(scalarText('a: b\n# c'), 'a: b\n# c')
})

scalar.run()
