// The Anthropic SDK works with the mock provider.

import Anthropic from '@anthropic-ai/sdk'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../../support/deadline.ts'
import { MockServer } from './mock-server.ts'

const WAIT_MS = 30_000
const mock = suite('mock provider for the Anthropic SDK')

let server: MockServer
let client: Anthropic
mock.before(async () => {
  server = await MockServer.start()
  client = new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries: 0 })
})
mock.after(() => server.close())

const ASKED = {
  model: 'mock',
  max_tokens: 100,
  system: [{ type: 'text', text: 'Be kind.' }],
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hi.' },
    { role: 'user', content: [{ type: 'text', text: 'Hello there' }] },
  ],
} satisfies Anthropic.MessageCreateParamsNonStreaming

async function soon<T>(promise: PromiseLike<T>): Promise<T> {
  return deadline(Promise.resolve(promise), WAIT_MS, 'an answer')
}

async function faultOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await soon(promise)
  } catch (error) {
    return error
  }
  throw new Error('there was no error')
}

mock('answers a message', async () => {
  const answer = await soon(client.messages.create(ASKED))
  assert.equal(answer.content, [{ type: 'text', text: 'You said: Hello there' }])
  assert.is(answer.stop_reason, 'end_turn')
  assert.is(answer.usage.input_tokens, 6)
  assert.is(answer.usage.output_tokens, 4)
  assert.match(answer._request_id ?? '', /^req_/)
})

mock('streams a message to the helper that assembles it', async () => {
  const types: string[] = []
  const stream = client.messages.stream(ASKED)
  stream.on('streamEvent', ({ type }) => types.push(type))
  const final = await soon(stream.finalMessage())
  assert.equal(final.content, [{ type: 'text', text: 'You said: Hello there' }])
  assert.is(final.stop_reason, 'end_turn')
  assert.is(final.usage.input_tokens, 6)
  assert.is(final.usage.output_tokens, 4)
  assert.equal(types, [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

mock('stops a message at max_tokens', async () => {
  const answer = await soon(client.messages.stream({ ...ASKED, max_tokens: 1 }).finalMessage())
  assert.equal(answer.content, [{ type: 'text', text: 'You' }])
  assert.is(answer.stop_reason, 'max_tokens')
  assert.is(answer.usage.output_tokens, 1)
})

mock('counts the tokens of a message', async () => {
  const { model, system, messages } = ASKED
  const count = await soon(client.messages.countTokens({ model, system, messages }))
  assert.is(count.input_tokens, 6)
})

mock('lists its models in the format of Anthropic', async () => {
  const page = await soon(client.models.list())
  assert.is(page.data[0]?.id, 'mock')
  assert.is(page.data[0]?.type, 'model')
  assert.not(page.hasNextPage())
})

mock('refuses a request with errors that the SDK knows', async () => {
  const ask = (model: string) => faultOf(client.messages.create({ ...ASKED, model }))
  const bad = await ask('')
  if (!(bad instanceof Anthropic.BadRequestError)) throw bad
  assert.is(bad.type, 'invalid_request_error')
  assert.match(bad.requestID ?? '', /^req_/)
  assert.instance(await faultOf(client.get('/v1/nowhere')), Anthropic.NotFoundError)
})

mock.run()
