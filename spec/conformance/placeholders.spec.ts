import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fits, fitsAtStart, fitsWithin, insertKept } from '../../conformance/placeholders.ts'
import type { Kept } from '../../conformance/placeholders.ts'

const placeholders = suite('placeholders')

placeholders('match all other text literally', () => {
  assert.ok(fits('a.b*(c)', 'a.b*(c)'))
  assert.not(fits('a.b', 'axb'))
  assert.ok(fits('<number>ms', '12ms'))
  assert.not(fits('<number>ms', 'ms'))
  assert.ok(fits('a<any>z', 'a\r\n<z'))
  assert.ok(fits('<date>', 'Tue, 02 Jan 2024 03:04:05 GMT'))
  assert.not(fits('<date>', 'today'))
  assert.ok(fits('<unknown>', '<unknown>'))
})

placeholders('match at the start or anywhere', () => {
  assert.is(fitsAtStart('a<number>', 'a12b'), 3)
  assert.is(fitsAtStart('b', 'ab'), -1)
  assert.ok(fitsWithin('status=<number> x', 'y status=200 x z'))
})

placeholders('keep their value, by name and number', () => {
  const kept: Kept = new Map()
  assert.ok(fits('a=<session>, b=<session 2>', 'a=x-1, b=y-2', kept))
  assert.ok(fits('{"id":<id>}', '{"id":"a b"}', kept))
  assert.is(insertKept('{{session}} {{session 2}} {{id}}', kept), 'x-1 y-2 "a b"')
  assert.ok(fits('<session>', 'z', kept))
  assert.is(insertKept('{{session 1}}', kept), 'z')
  assert.not(fits('<session>', 'with space', kept))
  assert.not(fits('<id>', 'true', kept))
})

placeholders('with the same name and number match the same value', () => {
  assert.ok(fits('<session> <session>', 'a a'))
  assert.not(fits('<session> <session>', 'a b'))
})

placeholders('leave unknown names unchanged', () => {
  assert.is(insertKept('{{port}} {{session}}', new Map()), '{{port}} {{session}}')
})

placeholders.run()
