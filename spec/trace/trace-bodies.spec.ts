import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BodyCopy, BodySnapshot } from '../../lib/trace/trace-bodies.ts'
import { formatTraceEvent } from '../../lib/core/trace-events.ts'
import { splits } from '../support/splits.ts'

const copying = suite('body copy')

/** The snapshots of a body that arrived in these chunks. */
function copied(chunks: readonly Buffer[], maxBytes: number): BodySnapshot[] {
  const snapshots: BodySnapshot[] = []
  const copy = new BodyCopy(maxBytes, (done) => snapshots.push(done.snapshot('response')))
  for (const chunk of chunks) copy.chunk(chunk, 0, chunk.length)
  copy.end('complete')
  copy.end('complete')
  return snapshots
}

const TEXT = Buffer.from('hellö')

copying('is the same at every split, and reported once', () => {
  for (const chunks of splits(TEXT)) {
    const [snapshot, ...more] = copied(chunks, 100)
    assert.equal(more, [])
    assert.is(Buffer.from(snapshot!.body, 'base64').toString(), 'hellö')
    assert.is(snapshot!.truncated, undefined)
    assert.is(snapshot!.bytes, TEXT.length)
  }
})

copying('is truncated at any bound, and marked', () => {
  for (const chunks of splits(TEXT))
    for (let maxBytes = 0; maxBytes < TEXT.length; maxBytes++) {
      const [snapshot] = copied(chunks, maxBytes)
      assert.is(snapshot!.truncated, true)
      assert.is(snapshot!.bytes, TEXT.length)
      assert.equal(Buffer.from(snapshot!.body, 'base64'), TEXT.subarray(0, maxBytes))
    }
})

copying('is formatted as JSON like any event', () => {
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

copying('is redacted by the names of the configuration', () => {
  const bytes = Buffer.from('who=x&b=c')
  const names = new Set(['who'])
  const { body } = new BodySnapshot('response', bytes, bytes.length, { names })
  assert.is(Buffer.from(body, 'base64').toString(), 'who=<redacted>&b=c')
})

copying.run()
