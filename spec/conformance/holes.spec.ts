import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fits, fitsAtStart, fitsWithin, insertKept } from '../../conformance/holes.ts'
import type { Kept } from '../../conformance/holes.ts'

const holes = suite('holes')

holes('take text literally, except for themselves', () => {
  assert.ok(fits('a.b*(c)', 'a.b*(c)'))
  assert.not(fits('a.b', 'axb'))
  assert.ok(fits('<number>ms', '12ms'))
  assert.not(fits('<number>ms', 'ms'))
  assert.ok(fits('a<any>z', 'a\r\n<z'))
  assert.ok(fits('<date>', 'Tue, 02 Jan 2024 03:04:05 GMT'))
  assert.not(fits('<date>', 'today'))
  assert.ok(fits('<unknown>', '<unknown>'))
})

holes('are found at the start or anywhere', () => {
  assert.is(fitsAtStart('a<number>', 'a12b'), 3)
  assert.is(fitsAtStart('b', 'ab'), -1)
  assert.ok(fitsWithin('status=<number> x', 'y status=200 x z'))
})

holes('keep what stood in them, by name and number', () => {
  const kept: Kept = new Map()
  assert.ok(fits('a=<session>, b=<session 2>', 'a=x-1, b=y-2', kept))
  assert.ok(fits('{"id":<id>}', '{"id":"a b"}', kept))
  assert.is(insertKept('{{session}} {{session 2}} {{id}}', kept), 'x-1 y-2 "a b"')
  assert.ok(fits('<session>', 'z', kept))
  assert.is(insertKept('{{session 1}}', kept), 'z')
  assert.not(fits('<session>', 'with space', kept))
  assert.not(fits('<id>', 'true', kept))
})

holes('of the same name and number hold the same', () => {
  assert.ok(fits('<session> <session>', 'a a'))
  assert.not(fits('<session> <session>', 'a b'))
})

holes('leave what was not kept, for others to fill', () => {
  assert.is(insertKept('{{port}} {{session}}', new Map()), '{{port}} {{session}}')
})

holes.run()
