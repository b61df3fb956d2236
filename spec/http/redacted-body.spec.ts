// Error responses that repeat a credential of the gateway.

import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { HeaderFields } from '../../lib/core/head.ts'
import { buildResponseHead } from '../../lib/core/replies.ts'
import type { Reply } from '../../lib/core/types.ts'
import { MAX_COMPRESSED_ERROR_BYTES, redactReply } from '../../lib/http/redacted-body.ts'
import { Secret } from '../../lib/text/secret.ts'
import { PushedBody, RecordingSink } from '../support/llm/pushing.ts'
import { splits } from '../support/splits.ts'

const redacted = suite('redacted body')

const KEY = 'sk-live/0123+abc'
const SECRETS = [new Secret(KEY), new Secret('sk-live/0123+abc-longer')]

/** The response as the client gets it, from these chunks of the backend. */
function relayed(
  chunks: readonly Buffer[],
  fields: readonly [string, string][] = [],
  trailers: HeaderFields | null = null,
  secrets: readonly Secret[] = SECRETS,
) {
  const source = new PushedBody('open', -1)
  const head = buildResponseHead(401, fields)
  const reply: Reply = redactReply({ head, body: source, tunnel: null }, secrets)
  const sink = new RecordingSink()
  reply.body.start(sink, 'content')
  for (const chunk of chunks) source.push(Buffer.from(chunk))
  if (!source.calls.includes('cancel')) source.sink.end(trailers)
  return { sink, head }
}

redacted('hides a key wherever the body is split, and keeps its length', () => {
  const basic = Buffer.from(`user:${KEY}`).toString('base64')
  const text = `{"error":"bad key ${KEY}, ${KEY}-longer, ${encodeURIComponent(KEY)}, ${basic}; sk-live/0"}`
  for (const chunks of splits(Buffer.from(text))) {
    const { sink } = relayed(chunks)
    assert.is(sink.text.length, text.length)
    assert.match(
      sink.text,
      /^\{"error":"bad key \*{16}, \*{23}, \*{20}, [\w]{1,8}\*+[\w=]{0,4}; sk-live\/0"\}$/,
    )
  }
})

redacted('hides a key with quotes and spaces in JSON and in queries in either case', () => {
  const key = 'p"w d/e'
  const percent = encodeURIComponent(key)
  const lower = percent.replace(/%../g, (escape) => escape.toLowerCase())
  const json = JSON.stringify(key).slice(1, -1)
  const forms = [json, json.replace('/', '\\/'), 'p\\u0022w d/e', Buffer.from(key).toString('hex')]
  for (const form of [...forms, lower, percent.replaceAll('%20', '+')]) {
    const { sink } = relayed([Buffer.from(`bad key ${form}.`)], [], null, [new Secret(key)])
    assert.is(sink.text, `bad key ${'*'.repeat(form.length)}.`)
  }
})

redacted('withholds a body with several codings, also in repeated fields', () => {
  const fields: [string, string][] = [
    ['content-encoding', 'identity'],
    ['content-encoding', 'gzip, gzip'],
  ]
  const { sink, head } = relayed([], fields)
  assert.match(sink.text, 'withholds this error body')
  assert.not.ok(head.has('content-encoding'))
})

redacted('leaves a body without a key unchanged', () => {
  const text = '{"error":{"message":"Incorrect API key provided: sk-l***********abc"}}'
  for (const chunks of splits(Buffer.from(text))) assert.is(relayed(chunks).sink.text, text)
})

redacted('hides a key in header values', () => {
  const { head } = relayed(
    [],
    [
      ['x-echo', `Bearer ${KEY}`],
      ['set-cookie', 'a=1'],
      ['set-cookie', `b=${KEY}`],
    ],
  )
  assert.is(head.get('x-echo'), `Bearer ${'*'.repeat(16)}`)
  assert.equal(head.getAll('set-cookie'), ['a=1', `b=${'*'.repeat(16)}`])
})

redacted('hides a key in trailers', () => {
  const trailers = buildResponseHead(200, [
    ['grpc-message', `bad key ${encodeURIComponent(KEY)}`],
    ['grpc-status', '16'],
  ])
  const { sink } = relayed([Buffer.from('a')], [], trailers)
  assert.is(sink.trailers?.get('grpc-message'), `bad key ${'*'.repeat(20)}`)
  assert.is(sink.trailers?.get('grpc-status'), '16')
})

redacted('hides a key in a compressed body, and keeps the bytes of others', () => {
  const gzip: [string, string][] = [['content-encoding', 'gzip']]
  const { sink } = relayed([gzipSync(`bad key ${KEY}`)], gzip)
  assert.is(gunzipSync(Buffer.from(sink.text, 'latin1')).toString(), `bad key ${'*'.repeat(16)}`)
  const other = brotliCompressSync('no key')
  const sent = relayed([other.subarray(0, 3), other.subarray(3)], [['content-encoding', 'br']]).sink
  assert.equal(Buffer.from(sent.text, 'latin1'), other)
})

redacted('withholds a body that it cannot read', () => {
  const large = gzipSync(Buffer.alloc(MAX_COMPRESSED_ERROR_BYTES + 1))
  for (const bytes of [large, Buffer.from('no gzip')]) {
    const { sink } = relayed([bytes], [['content-encoding', 'gzip']])
    assert.match(gunzipSync(Buffer.from(sink.text, 'latin1')).toString(), /^the gateway withholds/)
  }
  const { sink, head } = relayed([], [['content-encoding', 'zstd']])
  assert.match(sink.text, /^the gateway withholds/)
  assert.not(head.has('content-encoding'))
})

redacted.run()
