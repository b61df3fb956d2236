// Forwarded events stay whole, wherever their text is split.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WholeEventBuffer } from '../../lib/text/sse-reader.ts'

const buffer = suite('whole event buffer')

const TEXT = ': ready\n\nevent: a\ndata: {"a":1}\n\ndata: b\n\n: x\n\n'

buffer('returns text that ends at an event, and loses nothing', () => {
  for (let first = 0; first <= TEXT.length; first++)
    for (let second = first; second <= TEXT.length; second++) {
      const events = new WholeEventBuffer()
      const parts = [TEXT.slice(0, first), TEXT.slice(first, second), TEXT.slice(second)]
      const out = parts.map((part) => events.push(part)!)
      for (const text of out) assert.ok(text === '' || text.endsWith('\n\n'), JSON.stringify(parts))
      assert.is(out.join(''), TEXT)
    }
})

buffer('returns complete events at once', () => {
  const events = new WholeEventBuffer()
  assert.is(events.push('data: a\n\ndata: b'), 'data: a\n\n')
  assert.is(events.push('\n'), '')
  assert.is(events.push('\n'), 'data: b\n\n')
})

buffer('refuses an event that never ends', () => {
  const events = new WholeEventBuffer()
  const part = 'x'.repeat(1_048_576)
  for (let left = 64; left > 0; left--) assert.is(events.push(part), '')
  assert.is(events.push(part), null)
})

buffer.run()
