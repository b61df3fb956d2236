import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BodyCopy, BodySnapshot } from '../../lib/trace/trace-bodies.ts'
import { formatTraceEvent } from '../../lib/core/trace-events.ts'
import { splits } from '../support/splits.ts'

const copying = suite('body copy')

/** What is shown of a body that came in these pieces. */
function copied(chunks: readonly Buffer[], most: number): BodySnapshot[] {
  const shown: BodySnapshot[] = []
  const copy = new BodyCopy(most, (done) => shown.push(done.snapshot('response')))
  for (const chunk of chunks) copy.chunk(chunk, 0, chunk.length)
  copy.end('complete')
  copy.end('complete')
  return shown
}

const TEXT = Buffer.from('hellö')

copying('is the same however the body was split, and told once', () => {
  for (const chunks of splits(TEXT)) {
    const [snapshot, ...more] = copied(chunks, 100)
    assert.equal(more, [])
    assert.is(Buffer.from(snapshot!.body, 'base64').toString(), 'hellö')
    assert.is(snapshot!.truncated, undefined)
    assert.is(snapshot!.bytes, TEXT.length)
  }
})

copying('is cut at the bound wherever that falls, and says so', () => {
  for (const chunks of splits(TEXT))
    for (let most = 0; most < TEXT.length; most++) {
      const [snapshot] = copied(chunks, most)
      assert.is(snapshot!.truncated, true)
      assert.is(snapshot!.bytes, TEXT.length)
      assert.equal(Buffer.from(snapshot!.body, 'base64'), TEXT.subarray(0, most))
    }
})

copying('is written as JSON like any event', () => {
  const [message] = copied([TEXT], 4)
  const text = formatTraceEvent({
    eventStart: null,
    eventEnd: 5,
    severity: 'info',
    message: message!,
  })
  assert.equal(JSON.parse(text), {
    eventStart: null,
    eventEnd: 5,
    severity: 'info',
    message: {
      type: 'bodySnapshot',
      stage: 'response',
      body: TEXT.subarray(0, 4).toString('base64'),
      bytes: 6,
      truncated: true,
    },
  })
})

copying('is shown without what the configuration names', () => {
  const kept = Buffer.from('who=x&b=c')
  const names = new Set(['who'])
  const { body } = new BodySnapshot('response', kept, kept.length, { names })
  assert.is(Buffer.from(body, 'base64').toString(), 'who=<redacted>&b=c')
})

copying.run()
