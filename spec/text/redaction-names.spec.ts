import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { decodeParameterName, unescapeMemberName } from '../../lib/text/redaction.ts'

const decoding = suite('decoding of names')

decoding('decodes escapes, and keeps invalid ones', () => {
  for (const [name, plain] of [
    ['a', 'a'],
    ['to%6ben', 'token'],
    ['%zztoken', '%zztoken'],
    ['to%6ben%', 'token%'],
    ['%c3%bc', 'ü'],
    ['%ff%74', '\u{fffd}t'],
    ['+token%20', 'token'],
  ] as const)
    assert.is(decodeParameterName(name), plain, name)
  assert.is(unescapeMemberName('\\u0074oken'), 'token')
  assert.is(unescapeMemberName('\\\\u0074oken\\\\'), 'token')
  assert.is(unescapeMemberName('a\\u00'), 'a\\u00')
})

decoding.run()
