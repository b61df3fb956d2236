// Streams for which the gateway asks for usage: the request to the provider, and the response without the usage chunk.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { LLM_LIMITS } from '../../../lib/core/bounds.ts'
import { Backend } from '../../support/backend.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { answers, chatEventsOf, chatOf, LlmStream } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import {
  aiRoute,
  CHAT,
  chatAsking,
  remainingTokens,
  post,
  staged,
  tokens,
} from '../../support/llm/asking.ts'

const usage = suite('requested usage')
const stage = new Stage()
usage.after.each(() => stage.clear())

const LIMITED = { policies: tokens(1000) }
const ADDED = ',"stream_options":{"include_usage":true}}'

const EVENTS = chatEventsOf(30, 12)
const PLAIN = EVENTS.filter((event) => !event.includes('usage')).join('')

/** Sends the usage chunk only if the request asks for it, as providers do. */
const stream: LlmAnswer = (request, response) => {
  const isAsked = request.text.includes('"include_usage":true')
  const events = isAsked ? EVENTS : [PLAIN]
  answers.events(events)(request, response)
}

const STREAMING = chatAsking({ stream: true })

function injected(body: string): string {
  return body.slice(0, -1) + ADDED
}

usage('is added before the last brace, and removed from the response', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, stream)
  const response = await post(gateway, STREAMING)
  const [seen] = backend.requests
  assert.is(seen!.text, injected(STREAMING))
  assert.is(seen!.headers['content-length'], String(injected(STREAMING).length))
  assert.equal([response.status, response.text, response.end], [200, PLAIN, 'whole'])
  assert.is(remainingTokens(gateway), 1000 - 42)
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.usage.input_tokens'], 30)
  assert.is(line!['gen_ai.usage.output_tokens'], 12)
})

usage('is removed from a stream in one piece or in single bytes', async () => {
  const bytes = Buffer.from(EVENTS.join(''))
  const single = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1))
  for (const pieces of [[bytes], single]) {
    const { gateway } = await staged(stage, LIMITED, answers.events(pieces))
    assert.is((await post(gateway, STREAMING)).text, PLAIN)
    assert.is(remainingTokens(gateway), 1000 - 42)
  }
})

async function sendApart(gateway: RunningGateway, head: string, parts: string[]): Promise<string> {
  const client = await stage.client(gateway)
  client.send(
    `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${head}\r\n\r\n`,
  )
  await client.sendApart(parts.map((part) => Buffer.from(part)))
  return client.until(/\r\n0\r\n\r\n$/)
}

usage('is padded where the content-length was sent before the end was known', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, stream)
  const half = Math.floor(STREAMING.length / 2)
  const client = await stage.client(gateway)
  client.send(
    `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${STREAMING.length}\r\n\r\n` +
      STREAMING.slice(0, half),
  )
  const seen = await backend.requestHead(1)
  client.send(STREAMING.slice(half))
  await client.until(/\r\n0\r\n\r\n$/)
  assert.is(seen.text.trimEnd(), injected(STREAMING))
  assert.is(seen.headers['content-length'], String(seen.body.length))
  assert.not.match(client.text, '"usage"')
  // A request that does not stream has the same content-length, and is padded with spaces.
  const other = await stage.client(gateway)
  const quiet = chatAsking()
  backend.answer(answers.json(chatOf(1, 1)))
  other.send(
    `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${quiet.length}\r\n\r\n` +
      quiet.slice(0, half),
  )
  const second = await backend.requestHead(2)
  other.send(quiet.slice(half))
  await other.until(/"usage"/)
  assert.is(second.text.trimEnd(), quiet)
  assert.is(second.headers['content-length'], String(second.body.length))
})

usage('is added to a chunked body', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, stream)
  const half = STREAMING.length - 3
  const chunks = [STREAMING.slice(0, half), STREAMING.slice(half)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  )
  const text = await sendApart(gateway, 'transfer-encoding: chunked', [...chunks, '0\r\n\r\n'])
  assert.not.match(text, '"usage"')
  assert.is(backend.requests[0]!.text.trimEnd(), injected(STREAMING))
})

usage('is forwarded to clients that ask for it themselves', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, stream)
  const body = chatAsking({ stream: true, stream_options: { include_usage: true } })
  const response = await post(gateway, body, { fields: { 'accept-encoding': 'gzip' } })
  assert.is(response.text, EVENTS.join(''))
  assert.is(backend.requests[0]!.text, body)
  assert.is(backend.requests[0]!.headers['accept-encoding'], 'gzip')
})

usage('is set in options where it is false', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, stream)
  const options = '{"include_usage":false,"x":1}'
  const body = `{"model":"m","stream_options":${options},"stream":true,"messages":[]}`
  assert.is((await post(gateway, body)).text, PLAIN)
  const set = '{"include_usage":true,"x":1}'
  assert.is(backend.requests[0]!.text, body.replace(options, set))
})

usage('is also requested where tokens are not limited, for the log', async () => {
  for (const policies of [
    '',
    'ai: { usage: inject }',
    'rateLimit: { local: [{ requests: 9, unit: Hours }] }',
    `ai: { usage: limited }, ${LIMITED.policies}`,
  ]) {
    const { gateway, backend } = await staged(stage, { policies }, stream)
    assert.is((await post(gateway, STREAMING)).text, PLAIN, policies)
    assert.is(backend.requests[0]!.text, injected(STREAMING))
    const [line] = await gateway.logged(1)
    assert.is(line!['gen_ai.usage.input_tokens'], 30)
    assert.is(line!['gen_ai.usage.output_tokens'], 12)
  }
})

usage(
  'is not requested in a request that could not be sent again, where tokens are not limited',
  async () => {
    const body = chatAsking({ stream: true, input: ' '.repeat(LLM_LIMITS.maxKeptBytes) })
    const { gateway, backend } = await staged(stage, {}, stream)
    assert.is((await post(gateway, body)).text, PLAIN)
    assert.ok(backend.requests[0]!.text === body)
  },
)

usage('does not delay heartbeats', async () => {
  const open = new LlmStream()
  const { gateway } = await staged(stage, LIMITED, open.answer)
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${STREAMING.length}\r\n\r\n`)
  client.send(STREAMING)
  await open.opened()
  await open.send(':\n')
  await client.until(/\r\n:\n\r\n$/)
  await open.send(EVENTS.join(''))
  open.end()
  assert.not.match(await client.until(/\r\n0\r\n\r\n$/), '"usage"')
})

usage('is not requested in other formats', async () => {
  const table: [policies: string, path: string, body: string][] = [
    ['ai: { usage: passthrough }', CHAT, STREAMING],
    ['ai: { usage: limited }', CHAT, STREAMING],
    [
      `ai: { usage: limited }, rateLimit: { local: [{ requests: 9, unit: Hours }] }`,
      CHAT,
      STREAMING,
    ],
    [`ai: { usage: passthrough }, ${LIMITED.policies}`, CHAT, STREAMING],
    [LIMITED.policies, CHAT, chatAsking()],
    [LIMITED.policies, CHAT, chatAsking({ stream: false })],
    [LIMITED.policies, '/v1/messages', STREAMING],
    [LIMITED.policies, '/v1/responses', STREAMING],
    [LIMITED.policies, '/v1/embeddings', chatAsking()],
  ]
  for (const [policies, path, body] of table) {
    const { gateway, backend } = await staged(stage, { policies }, answers.events(EVENTS))
    const response = await post(gateway, body, { path, fields: { 'accept-encoding': 'br' } })
    const [seen] = backend.requests
    assert.is(seen!.text, body, `${path} ${policies}`)
    assert.is(seen!.headers['accept-encoding'], 'br')
    assert.is(response.text, EVENTS.join(''))
  }
})

usage('keeps providers from compressing a stream with a chunk to remove', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, stream)
  await post(gateway, STREAMING, { fields: { 'accept-encoding': 'gzip' } })
  assert.is(backend.requests[0]!.headers['accept-encoding'], undefined)
})

usage('is removed from a stream that a provider compresses without being asked', async () => {
  const { gateway, backend } = await staged(stage, LIMITED)
  for (const [coding, bytes] of [
    ['gzip', gzipSync(EVENTS.join(''))],
    ['deflate', deflateSync(EVENTS.join(''))],
    ['br', brotliCompressSync(EVENTS.join(''))],
  ] as const) {
    const single = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1))
    for (const pieces of [[bytes], single]) {
      backend.answer(answers.events(pieces, { 'content-encoding': coding }))
      const before = remainingTokens(gateway)
      const response = await post(gateway, STREAMING)
      assert.equal([response.text, response.end], [PLAIN, 'whole'], coding)
      assert.is(response.headers['content-encoding'], undefined)
      assert.is(before - remainingTokens(gateway), 42)
    }
  }
})

usage(
  'is not removed from a coding that the gateway cannot read, or from bytes that are not in the coding',
  async () => {
    const { gateway, backend } = await staged(stage, LIMITED)
    const bytes = gzipSync(EVENTS.join(''))
    backend.answer(answers.events([bytes], { 'content-encoding': 'x-own' }))
    assert.ok((await post(gateway, STREAMING)).body.equals(bytes))
    backend.answer(answers.events([Buffer.from('no gzip')], { 'content-encoding': 'gzip' }))
    assert.is((await post(gateway, STREAMING)).end, 'cut')
    // What can be decoded of a stream that breaks is forwarded.
    const cut = new LlmStream({}, 'gzip')
    backend.answer(cut.answer)
    const response = post(gateway, STREAMING)
    await cut.opened()
    await cut.send(EVENTS[0]!)
    cut.cut()
    assert.equal([(await response).text, (await response).end], [EVENTS[0], 'cut'])
  },
)

usage('is removed where the type of the stream is missing or unspecific', async () => {
  for (const fields of [
    { 'content-type': 'text/plain' },
    { 'content-type': 'Text/Plain; charset=utf-8' },
  ]) {
    const { gateway } = await staged(stage, LIMITED, answers.events(EVENTS, fields))
    assert.is((await post(gateway, STREAMING)).text, PLAIN)
    assert.is(remainingTokens(gateway), 1000 - 42)
  }
  const untyped: LlmAnswer = (_request, response) => {
    response.writeHead(200, {}).end(EVENTS.join(''))
  }
  const { gateway, backend } = await staged(stage, LIMITED, untyped)
  assert.is((await post(gateway, STREAMING)).text, PLAIN)
  assert.is(remainingTokens(gateway), 1000 - 42)
  // A response that is JSON is not changed.
  const text = '{"choices":[],\n\n"usage":{"prompt_tokens":1,"completion_tokens":1}}'
  backend.answer((_request, response) => void response.writeHead(200, {}).end(text))
  assert.is((await post(gateway, STREAMING)).text, text)
})

usage('is removed where the chunk has no choices', async () => {
  const chunk =
    'data: {"id":"c","object":"chat.completion.chunk","usage":{"prompt_tokens":30,"completion_tokens":12}}\n\n'
  const events = EVENTS.map((event) => (event.includes('"usage"') ? chunk : event))
  const { gateway } = await staged(stage, LIMITED, answers.events(events))
  assert.is((await post(gateway, STREAMING)).text, PLAIN)
  assert.is(remainingTokens(gateway), 1000 - 42)
})

usage('is refused by a 422, which is remembered like a 400', async () => {
  const detail =
    '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}'
  const answer: LlmAnswer = (request, response) => {
    if (!('stream_options' in request.json)) return stream(request, response)
    response.writeHead(422, { 'content-type': 'application/json' }).end(detail)
  }
  const { gateway, backend } = await staged(stage, LIMITED, answer)
  for (const requests of [2, 3]) {
    assert.is((await post(gateway, STREAMING)).text, PLAIN)
    assert.is(backend.requests.length, requests)
  }
  // Another 422 is forwarded.
  const other = '{"message":"messages is too long"}'
  backend.answer((_request, response) => void response.writeHead(422, {}).end(other))
  const response = await post(gateway, chatAsking({ model: 'n', stream: true }))
  assert.equal([response.status, response.text], [422, other])
})

usage('is removed even if the response head arrives before the end of the request', async () => {
  const own = chatAsking({ stream: true, stream_options: { include_usage: true } })
  for (const [body, expected] of [
    [STREAMING, PLAIN],
    [own, EVENTS.join('')],
  ] as const) {
    const provider = await Backend.start([
      { wait: /\r\n\r\n\{$/ },
      { send: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n' },
      { wait: /include_usage.+\}/ },
      { send: EVENTS.join('') },
      { close: true },
    ])
    stage.add(provider)
    const gateway = await stage.gateway(aiRoute(provider, LIMITED))
    const client = await stage.client(gateway)
    client.send(`POST ${CHAT} HTTP/1.0\r\ncontent-length: ${body.length}\r\n\r\n{`)
    await client.until(/\r\n\r\n/)
    client.send(body.slice(1))
    assert.ok((await client.untilClosed()).endsWith(`\r\n\r\n${expected}`))
  }
})

usage('is not requested again from a provider that refused it', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, answers.refusesUsage(stream))
  assert.is((await post(gateway, STREAMING)).text, PLAIN)
  assert.equal(
    backend.requests.map(({ text }) => text),
    [injected(STREAMING), STREAMING],
  )
  assert.is((await post(gateway, STREAMING)).text, PLAIN)
  assert.is(backend.requests.length, 3)
  assert.is(backend.requests[2]!.text, STREAMING)
})

usage('is refused to parallel requests, which are all sent again without it', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, answers.refusesUsage(stream))
  const responses = await Promise.all([1, 2, 3].map(() => post(gateway, STREAMING)))
  assert.equal(
    responses.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.ok(backend.requests.length <= 6)
})

usage('is refused by single models, and still requested for the others', async () => {
  const refuses = answers.refusesUsage(stream)
  const answer: LlmAnswer = (request, response) =>
    (request.json['model'] === 'old' ? refuses : stream)(request, response)
  const { gateway, backend } = await staged(stage, LIMITED, answer)
  const requested = async (model: string): Promise<boolean[]> => {
    const from = backend.requests.length
    assert.is((await post(gateway, chatAsking({ model, stream: true }))).text, PLAIN)
    return backend.requests.slice(from).map(({ text }) => text.includes('include_usage'))
  }
  assert.equal(await requested('new'), [true])
  assert.equal(await requested('old'), [true, false])
  assert.equal(await requested('old'), [false])
  assert.equal(await requested('new'), [true])
})

usage('is not the reason of a 400 about something else, which is forwarded unchanged', async () => {
  const refusal = answers.fails(400)
  const { gateway, backend } = await staged(stage, LIMITED, refusal)
  const response = await post(gateway, STREAMING)
  assert.is(response.status, 400)
  assert.match(response.text, 'the spec says 400')
  assert.is(backend.requests.length, 1)
  assert.is(remainingTokens(gateway), 1000)
  // That 400 proves nothing: the next request asks for usage again.
  backend.answer(stream)
  assert.is((await post(gateway, STREAMING)).text, PLAIN)
  assert.is(backend.requests[1]!.text, injected(STREAMING))
  assert.is(remainingTokens(gateway), 1000 - 42)
})

usage('is not the reason of a 400 whose message is compressed, late or missing', async () => {
  const words = 'stream_options'
  const bodies: [fields: Record<string, string>, body: Buffer][] = [
    [{ 'content-encoding': 'gzip' }, gzipSync(words)],
    [{ 'content-type': 'image/png' }, Buffer.from(words)],
    [{}, Buffer.from('x'.repeat(200_000) + words)],
    [{ 'content-length': '200014' }, Buffer.from('x'.repeat(200_000) + words)],
    [{}, Buffer.alloc(0)],
  ]
  for (const [fields, body] of bodies) {
    const answer: LlmAnswer = (_request, response) => void response.writeHead(400, fields).end(body)
    const { gateway, backend } = await staged(stage, LIMITED, answer)
    const response = await post(gateway, STREAMING)
    assert.equal([response.status, response.end, backend.requests.length], [400, 'whole', 1])
    assert.ok(response.body.equals(body))
  }
})

usage('removes the content-length of the response, which would be too high', async () => {
  const length = String(EVENTS.join('').length)
  const answer = answers.events(EVENTS, { 'content-length': length })
  const { gateway } = await staged(stage, LIMITED, answer)
  assert.is((await post(gateway, STREAMING)).text, PLAIN)
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const request = client.request({ ':path': CHAT, ':method': 'POST' })
  request.stream.end(STREAMING)
  assert.is(await request.closed(), 0)
  assert.is(request.body, PLAIN)
  const old = await stage.client(gateway)
  old.send(`POST ${CHAT} HTTP/1.0\r\ncontent-length: ${STREAMING.length}\r\n\r\n${STREAMING}`)
  const text = await old.untilClosed()
  assert.not.match(text, /content-length/i)
  assert.ok(text.endsWith(PLAIN))
})

usage.run()
