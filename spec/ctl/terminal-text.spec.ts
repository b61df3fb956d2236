// Text from outside on a terminal: it holds no control characters and takes the computed width.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { tableText } from '../../lib/ctl/print-output.ts'
import { fit, plain, plainJson, skip, widthOf } from '../../lib/ctl/terminal-text.ts'

const text = suite('terminal text')

text('escapes control characters', () => {
  assert.is(plain('a\x1b[31mb\x07\x9b\x7f'), 'a\\x1b[31mb\\x07\\x9b\\x7f')
  assert.is(plain('\x1b]52;c;AAAA\x07'), '\\x1b]52;c;AAAA\\x07')
  assert.is(plain('a\r\nb\tc'), 'a\\x0d\\x0ab  c')
})

text('escapes invisible characters and those that change the text direction', () => {
  assert.is(
    plain('a\u202eb\u2066c\u200bd\ufeff\u2028'),
    'a\\u{202e}b\\u{2066}c\\u{200b}d\\u{feff}\\u{2028}',
  )
  assert.is(plain('\ud800'), '\\u{d800}')
})

text('keeps all other characters', () => {
  const letters = 'Grüße, 日本 👍 é ✓ │'
  assert.is(plain(letters), letters)
})

text('leaves no control character in the text', () => {
  for (let code = 0; code < 0x3000; code++) {
    const shown = plain(String.fromCharCode(code))
    assert.not.match(shown, /[\p{Cc}\p{Cf}]/u, code.toString(16))
  }
})

text('keeps the meaning of JSON', () => {
  const line = JSON.stringify({ a: '\x1b\x9b\x7f\u0085' })
  assert.not.match(plainJson(line), /\p{Cc}/u)
  assert.equal(JSON.parse(plainJson(line)), JSON.parse(line))
})

text('counts two columns for wide characters and none for combining marks', () => {
  assert.is(widthOf('abc'), 3)
  assert.is(widthOf('日本'), 4)
  assert.is(widthOf('👍'), 2)
  assert.is(widthOf('🇩🇪'), 2)
  assert.is(widthOf('e\u0301'), 1)
  assert.is(widthOf('ｆｕｌｌ'), 8)
  assert.is(widthOf(''), 0)
})

text('cuts and pads to a width, never inside a wide character', () => {
  assert.is(fit('abc', 5), 'abc  ')
  assert.is(fit('abcdef', 3), 'abc')
  assert.is(fit('日本', 3), '日 ')
  assert.is(fit('e\u0301x', 1), 'e\u0301')
  assert.is(fit('👍x', 1), ' ')
  assert.is(fit('abc', 0), '')
})

text('skips columns', () => {
  assert.is(skip('abcdef', 2), 'cdef')
  assert.is(skip('日本', 1), ' 本')
  assert.is(skip('ab', 9), '')
})

text('aligns the columns of a table', () => {
  const table = tableText(
    ['A', 'LONG'],
    [
      ['日本', 'x'],
      ['b\x1b', ''],
    ],
  )
  assert.is(table, 'A       LONG\n日本    x\nb\\x1b\n')
})

text.run()
