import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BodyCopy, BodySnapshot } from '../../lib/trace/trace-bodies.ts'
import type { BodyRedaction } from '../../lib/trace/trace-bodies.ts'
import { formatTraceEvent } from '../../lib/core/trace-events.ts'
import { KnownSecrets } from '../../lib/text/known-secrets.ts'
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

/** The shown text of a body. */
function shown(bytes: Buffer, redaction: Partial<BodyRedaction>, length = bytes.length): string {
  const whole = { members: [], secrets: new KnownSecrets(), coding: '', ...redaction }
  const { body } = new BodySnapshot('response', bytes, length, { redaction: whole })
  return Buffer.from(body, 'base64').toString()
}

function known(secret: string): KnownSecrets {
  const secrets = new KnownSecrets()
  secrets.add(secret)
  return secrets
}

copying('is exact unless a redaction is configured', () => {
  const text = '{"password":"x","authorization":"y","tokens":["z"]}'
  assert.is(shown(Buffer.from(text), {}), text)
  const members = ['password']
  assert.is(shown(Buffer.from(text), { members }), text.replace('x', '<redacted>'))
})

copying('does not have a secret that the gateway added, in either mode', () => {
  const text = Buffer.from('{"a":"wrong key sk-123456"}')
  const secrets = known('sk-123456')
  assert.is(shown(text, { secrets }), '{"a":"wrong key <redacted>"}')
  assert.is(shown(text, { secrets, members: ['b'] }), '{"a":"wrong key <redacted>"}')
  assert.is(shown(text.subarray(0, 24), { secrets }, 27), '{"a":"wrong key <redacted>')
})

copying('is not shown if it is compressed and contains what must not be shown', () => {
  const text = Buffer.from('{"a":"wrong key sk-123456"}')
  const secrets = known('sk-123456')
  const codings = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }
  for (const [coding, compress] of Object.entries(codings)) {
    const bytes = compress(text)
    assert.is(shown(bytes, { secrets, coding }), `<redacted: a secret in ${coding}>`)
    assert.is(shown(bytes, { members: ['a'], coding }), `<redacted: a secret in ${coding}>`)
    const other = { secrets: known('another one'), coding }
    assert.is(shown(bytes, other), bytes.toString())
  }
  assert.is(
    shown(deflateRawSync(text), { secrets, coding: 'deflate' }),
    '<redacted: a secret in deflate>',
  )
  assert.is(
    shown(text.subarray(0, 3), { secrets, coding: 'gzip' }),
    '<redacted: gzip was not decoded>',
  )
  assert.is(shown(Buffer.from('x'), { secrets, coding: 'odd' }), '<redacted: odd was not decoded>')
})

copying.run()
