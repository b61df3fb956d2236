// Text from elsewhere on a terminal: nothing in it is acted on, and it takes the room that was counted.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { plain, plainJson } from '../../lib/ctl/plain-text.ts'
import { fit, skip, widthOf } from '../../lib/ctl/width.ts'
import { tableText } from '../../lib/ctl/table.ts'

const text = suite('plain text')

text('shows controls instead of sending them', () => {
  assert.is(plain('a\x1b[31mb\x07\x9b\x7f'), 'a\\x1b[31mb\\x07\\x9b\\x7f')
  assert.is(plain('\x1b]52;c;AAAA\x07'), '\\x1b]52;c;AAAA\\x07')
  assert.is(plain('a\r\nb\tc'), 'a\\x0d\\x0ab  c')
})

text('shows what turns text round or hides in it', () => {
  assert.is(
    plain('a\u202eb\u2066c\u200bd\ufeff\u2028'),
    'a\\u{202e}b\\u{2066}c\\u{200b}d\\u{feff}\\u{2028}',
  )
  assert.is(plain('\ud800'), '\\u{d800}')
})

text('leaves letters of all kinds alone', () => {
  const letters = 'Grüße, 日本 👍 é ✓ │'
  assert.is(plain(letters), letters)
})

text('no character whatever reaches a terminal as a control', () => {
  for (let code = 0; code < 0x3000; code++) {
    const shown = plain(String.fromCharCode(code))
    assert.not.match(shown, /[\p{Cc}\p{Cf}]/u, code.toString(16))
  }
})

text('JSON means the same after it was made plain', () => {
  const line = JSON.stringify({ a: '\x1b\x9b\x7f\u0085' })
  assert.not.match(plainJson(line), /\p{Cc}/u)
  assert.equal(JSON.parse(plainJson(line)), JSON.parse(line))
})

text('measures wide characters as two columns and marks as none', () => {
  assert.is(widthOf('abc'), 3)
  assert.is(widthOf('日本'), 4)
  assert.is(widthOf('👍'), 2)
  assert.is(widthOf('e\u0301'), 1)
  assert.is(widthOf('ｆｕｌｌ'), 8)
  assert.is(widthOf(''), 0)
})

text('cuts and fills to a width, never through a wide character', () => {
  assert.is(fit('abc', 5), 'abc  ')
  assert.is(fit('abcdef', 3), 'abc')
  assert.is(fit('日本', 3), '日 ')
  assert.is(fit('e\u0301x', 1), 'e\u0301')
  assert.is(fit('abc', 0), '')
})

text('moves sideways by columns', () => {
  assert.is(skip('abcdef', 2), 'cdef')
  assert.is(skip('日本', 1), ' 本')
  assert.is(skip('ab', 9), '')
})

text('a table is as wide as its cells', () => {
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
