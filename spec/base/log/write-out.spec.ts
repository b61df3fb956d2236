// How the text of a log is cut where several processes write to one place.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_PIECE, piecesOf } from '../../../lib/base/log/write-out.ts'

const out = suite('base/write-out')

out('pieces are whole lines within what a pipe takes at once, and lose nothing', () => {
  for (const length of [1, 99, 4095, MAX_PIECE]) {
    const text = `${'x'.repeat(length - 1)}\n`.repeat(2 * Math.ceil(MAX_PIECE / length) + 3)
    const pieces = [...piecesOf(text)]
    assert.is(pieces.join(''), text)
    for (const piece of pieces) {
      assert.ok(piece.length <= MAX_PIECE)
      assert.ok(piece.endsWith('\n'))
    }
    assert.ok(pieces.length <= text.length / (MAX_PIECE - length + 1) + 1, `${length}`)
  }
})

out('a line above that goes alone', () => {
  const long = `${'x'.repeat(MAX_PIECE + 1)}\n`
  assert.equal([...piecesOf(`a\n${long}b\nc\n`)], ['a\n', long, 'b\nc\n'])
})

out('a text without an end is written too', () => {
  assert.equal([...piecesOf('')], [])
  assert.equal([...piecesOf('a')], ['a'])
  const endless = 'x'.repeat(2 * MAX_PIECE)
  assert.equal([...piecesOf(endless)], [endless])
})

out.run()
