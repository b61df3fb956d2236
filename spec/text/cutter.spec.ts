// Events that are passed on come whole, wherever their text was cut.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WholeEventBuffer } from '../../lib/text/sse-reader.ts'

const cutter = suite('base/sse/cutter')

const TEXT = ': ready\n\nevent: a\ndata: {"a":1}\n\ndata: b\n\n: x\n\n'

cutter('whatever comes out ends where an event does, and nothing is lost', () => {
  for (let first = 0; first <= TEXT.length; first++)
    for (let second = first; second <= TEXT.length; second++) {
      const events = new WholeEventBuffer()
      const parts = [TEXT.slice(0, first), TEXT.slice(first, second), TEXT.slice(second)]
      const out = parts.map((part) => events.push(part)!)
      for (const some of out) assert.ok(some === '' || some.endsWith('\n\n'), JSON.stringify(parts))
      assert.is(out.join(''), TEXT)
    }
})

cutter('what is whole is not kept back', () => {
  const events = new WholeEventBuffer()
  assert.is(events.push('data: a\n\ndata: b'), 'data: a\n\n')
  assert.is(events.push('\n'), '')
  assert.is(events.push('\n'), 'data: b\n\n')
})

cutter('an event without an end is given up', () => {
  const events = new WholeEventBuffer()
  const part = 'x'.repeat(1_048_576)
  for (let left = 64; left > 0; left--) assert.is(events.push(part), '')
  assert.is(events.push(part), null)
})

cutter.run()
