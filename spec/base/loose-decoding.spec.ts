import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { decoded, unescaped } from '../../lib/base/loose-decoding.ts'

const decoding = suite('loose decoding')

decoding('reads escapes, and leaves what is none as it is', () => {
  for (const [name, plain] of [
    ['a', 'a'],
    ['to%6ben', 'token'],
    ['%zztoken', '%zztoken'],
    ['to%6ben%', 'token%'],
    ['%c3%bc', 'ü'],
    ['%ff%74', '\u{fffd}t'],
    ['+token%20', 'token'],
  ] as const)
    assert.is(decoded(name), plain, name)
  assert.is(unescaped('\\u0074oken'), 'token')
  assert.is(unescaped('\\\\u0074oken\\\\'), 'token')
  assert.is(unescaped('a\\u00'), 'a\\u00')
})

decoding.run()
