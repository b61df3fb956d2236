// The mock provider without a gateway: what it answers at each path, and how it words its errors.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LlmFormat } from '../../../../lib/config/backend-types.ts'
import { BytesBody } from '../../../../lib/core/replies.ts'
import type { Body, Reply, Sink } from '../../../../lib/core/types.ts'
import { MockProvider } from '../../../../lib/forward/llm/mock/mock-provider.ts'
import { exchangeOf, requestOf } from '../../../support/exchange-of.ts'
import { detect, replyOf, callMock } from './mock-server.ts'
import type { MockResponse } from './mock-server.ts'

const mock = suite('mock provider')

const CHAT = 'POST /v1/chat/completions'
const MESSAGES = 'POST /v1/messages'
const COUNT = 'POST /v1/messages/count_tokens'

const MOST_BYTES = 8_388_608
const MESSAGE = { model: 'mock', messages: [{ role: 'user', content: 'Hi' }] }

type Tree = { readonly [name: string]: Tree } & readonly Tree[] & string & number

function parsed({ text }: MockResponse): Tree {
  return JSON.parse(text) as Tree
}

/** The JSON after each `data:`, without the last `[DONE]`. */
function eventsOf({ text }: MockResponse): Tree[] {
  const data = [...text.matchAll(/^data: (\{.*\})\r?$/gm)]
  return data.map(([, json = '']) => JSON.parse(json) as Tree)
}

mock('answers the same request with the same bytes', () => {
  for (const [start, content] of [
    [CHAT, { ...MESSAGE, stream: true }],
    [MESSAGES, { ...MESSAGE, max_tokens: 9 }],
  ] as const)
    assert.is(callMock(start, content).text, callMock(start, content).text)
  const other = { ...MESSAGE, messages: [{ role: 'user', content: 'Ho' }] }
  assert.is.not(parsed(callMock(CHAT, MESSAGE))['id'], parsed(callMock(CHAT, other))['id'])
})

mock('gives a response the same id, streamed or not', () => {
  const whole = parsed(callMock(CHAT, MESSAGE))['id']
  const stream_options = { include_usage: true }
  for (const event of eventsOf(callMock(CHAT, { ...MESSAGE, stream: true, stream_options })))
    assert.is(event['id'], whole)
})

mock('ends a chat stream with [DONE]', () => {
  const { status, fields, text } = callMock(CHAT, { ...MESSAGE, stream: true, max_tokens: 1 })
  assert.is(status, 200)
  assert.is(fields['content-type'], 'text/event-stream; charset=utf-8')
  assert.is(fields['content-length'], undefined)
  const chunk = (choice: string): string =>
    `data: {"id":"chatcmpl-d25a628e39b866673df1c1f2","object":"chat.completion.chunk","created":1700000000,` +
    `"model":"mock","service_tier":"default","system_fingerprint":"fp_mock","choices":[{"index":0,${choice}}]}\n\n`
  assert.is(
    text,
    chunk(
      '"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null',
    ) +
      chunk('"delta":{"content":"You"},"logprobs":null,"finish_reason":null') +
      chunk('"delta":{},"logprobs":null,"finish_reason":"length"') +
      'data: [DONE]\n\n',
  )
})

mock('streams a message with the name of each event', () => {
  const { text } = callMock(MESSAGES, { ...MESSAGE, max_tokens: 1, stream: true })
  const usage = (output: number, more = ''): string =>
    `"usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":${output}${more}}`
  assert.equal(text.split('\n\n'), [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_d25a628e39b866673df1c1f2","type":"message",' +
      '"role":"assistant","model":"mock","content":[],"stop_reason":null,"stop_sequence":null,' +
      `${usage(1, ',"service_tier":"standard"')}}}`,
    'event: content_block_start\n' +
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    'event: ping\ndata: {"type":"ping"}',
    'event: content_block_delta\n' +
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"You"}}',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
    'event: message_delta\n' +
      `data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},${usage(1)}}`,
    'event: message_stop\ndata: {"type":"message_stop"}',
    '',
  ])
})

mock('counts four bytes of all texts as a token, in any content form', () => {
  const inputOf = (content: unknown): number =>
    parsed(callMock(COUNT, { model: 'mock', messages: [{ role: 'user', content }] }))[
      'input_tokens'
    ]!
  assert.is(inputOf(''), 1)
  assert.is(inputOf('12345678'), 2)
  assert.is(inputOf('123456789'), 3)
  assert.is(inputOf('äöüß'), 2)
  assert.is(inputOf([{ type: 'text', text: '1234' }, { type: 'image' }]), 1)
  assert.is(inputOf([{ type: 'tool_result', content: [{ type: 'text', text: '12345' }] }]), 2)
})

mock('repeats the last text of the user, up to a limit', () => {
  const saidTo = (messages: unknown): string =>
    parsed(callMock(CHAT, { model: 'mock', messages }))['choices']![0]!['message']!['content']!
  const user = { role: 'user', content: ' two\n words ' }
  assert.is(saidTo([user, { role: 'assistant', content: 'no' }]), 'You said: two words')
  assert.is(saidTo([{ role: 'system', content: 'no' }]), 'You said nothing.')
  assert.is(saidTo([{ role: 'user', content: '😀'.repeat(300) }]), `You said: ${'😀'.repeat(200)}`)
})

mock('does not search deeply nested content for texts', () => {
  const deep = `${'['.repeat(100_000)}"x"${']'.repeat(100_000)}`
  const text = `{"model":"mock","messages":[{"role":"user","content":${deep}}]}`
  assert.is(
    parsed(callMock(CHAT, text))['choices']![0]!['message']!['content'],
    'You said nothing.',
  )
})

mock('refuses an invalid body with an error of the dialect', () => {
  const openai = callMock(CHAT, '{"model":')
  assert.is(openai.status, 400)
  assert.is(parsed(openai)['error']?.['type'], 'invalid_request_error')
  const anthropic = callMock(MESSAGES, '[]')
  assert.is(anthropic.status, 400)
  assert.is(parsed(anthropic)['type'], 'error')
  assert.is(parsed(anthropic)['error']?.['type'], 'invalid_request_error')
  assert.match(anthropic.fields['request-id'] ?? '', /^req_/)
})

mock('names the field that is missing or invalid', () => {
  const param = (start: string, content: unknown): unknown =>
    parsed(callMock(start, content))['error']?.['param']
  const { messages } = MESSAGE
  assert.is(param(CHAT, { messages }), 'model')
  assert.is(param(CHAT, { model: 'mock' }), 'messages')
  assert.is(param(CHAT, { ...MESSAGE, max_tokens: 0 }), 'max_tokens')
  const { error } = parsed(callMock(MESSAGES, { model: 'mock' }))
  assert.is(error?.['message'], 'messages: Field required')
})

mock('serves its own paths, and other paths by the format of the route', () => {
  const elsewhere = 'POST /models/chat'
  assert.is(callMock(elsewhere, MESSAGE).status, 404)
  const messages = (): LlmFormat => 'messages'
  assert.is(parsed(callMock(elsewhere, MESSAGE, [], messages))['type'], 'message')
  assert.is(parsed(callMock(CHAT, MESSAGE, [], messages))['object'], 'chat.completion')
  assert.is(callMock('POST /v1/rerank', {}, [], () => 'rerank').status, 404)
  for (const path of ['/v1/responses', '/v1/embeddings', '/v1/completions'])
    assert.is(
      callMock(`POST ${path}`, { model: 'mock', input: 'Hi', prompt: 'Hi' }).status,
      404,
      path,
    )
})

mock('refuses unknown paths and methods in the dialect of the client', () => {
  const openai = callMock('POST /nowhere?a=b', {})
  assert.is(openai.status, 404)
  assert.is(parsed(openai)['error']?.['code'], 'unknown_url')
  const anthropic = callMock('POST /nowhere', {}, ['anthropic-version: 2023-06-01'])
  assert.is(parsed(anthropic)['error']?.['type'], 'not_found_error')
  assert.is(callMock('GET /v1/messages', '').status, 405)
  assert.is(callMock('POST /v1/models', {}).status, 405)
})

mock('refuses a request above the size limit', () => {
  const announced = new BytesBody(Buffer.alloc(MOST_BYTES + 1))
  assert.is(replyOf(CHAT, announced, new MockProvider(detect)).head.status, 413)
  const open = new OpenBody()
  const backend = new MockProvider(detect)
  const { answers } = call(backend, open)
  open.send(Buffer.alloc(MOST_BYTES))
  assert.is(answers.length, 0)
  open.send(Buffer.alloc(1))
  assert.equal(
    answers.map(({ head }) => head.status),
    [413],
  )
})

mock('refuses a model name above the length limit, which every chunk would repeat', () => {
  assert.is(callMock(CHAT, { ...MESSAGE, model: 'm'.repeat(1024), stream: true }).status, 200)
  assert.is(callMock(CHAT, { ...MESSAGE, model: 'm'.repeat(1025), stream: true }).status, 400)
})

mock('limits the bytes of parallel requests, and releases them after a cancelled request', () => {
  const backend = new MockProvider(detect)
  const others = Array.from({ length: 8 }, () => {
    const open = new OpenBody()
    const called = call(backend, open)
    open.send(Buffer.alloc(MOST_BYTES))
    return called
  })
  const statusNow = (): number => {
    const text = JSON.stringify(MESSAGE)
    return replyOf(CHAT, new BytesBody(Buffer.from(text)), backend).head.status
  }
  assert.is(statusNow(), 503)
  others[0]!.exchange.pendingCall?.cancel()
  assert.is(statusNow(), 200)
})

/** A body that arrives when the spec sends it. */
class OpenBody extends BytesBody {
  #sink: Sink | null = null

  constructor() {
    super(Buffer.alloc(0))
  }

  override start(sink: Sink): void {
    this.#sink = sink
  }

  send(bytes: Buffer): void {
    this.#sink?.write(bytes, 0, bytes.length)
  }
}

function call(backend: MockProvider, body: Body) {
  const answers: Reply[] = []
  const exchange = exchangeOf(requestOf(`${CHAT} HTTP/1.1`, 'host: mock'))
  backend.call(exchange, {
    body,
    answer: (reply) => void answers.push(reply),
    fail(error) {
      throw error
    },
  })
  return { answers, exchange }
}

mock.run()
