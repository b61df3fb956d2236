// The OpenAI SDK works with the mock provider.

import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../../support/deadline.ts'
import { MockServer } from './mock-server.ts'

const WAIT_MS = 30_000
const mock = suite('mock provider for the OpenAI SDK')

let server: MockServer
let client: OpenAI
mock.before(async () => {
  server = await MockServer.start()
  client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0 })
})
mock.after(() => server.close())

const messages = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: [{ type: 'text', text: 'Hello there' }] },
] satisfies OpenAI.ChatCompletionMessageParam[]

async function soon<T>(promise: PromiseLike<T>): Promise<T> {
  return deadline(Promise.resolve(promise), WAIT_MS, 'an answer')
}

async function all<T>(stream: PromiseLike<AsyncIterable<T>>): Promise<T[]> {
  const items: T[] = []
  const read = async (): Promise<T[]> => {
    for await (const item of await stream) items.push(item)
    return items
  }
  return deadline(read(), WAIT_MS, 'the stream to end')
}

async function faultOf(
  promise: PromiseLike<unknown>,
): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await soon(promise)
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error
    throw error
  }
  throw new Error('there was no error')
}

mock('answers a chat', async () => {
  const answer = await soon(client.chat.completions.create({ model: 'mock', messages }))
  assert.is(answer.choices[0]?.message.content, 'You said: Hello there')
  assert.is(answer.choices[0]?.finish_reason, 'stop')
  assert.is(answer.usage?.prompt_tokens, 5)
  assert.is(answer.usage?.completion_tokens, 4)
  assert.is(answer.usage?.total_tokens, 9)
  assert.match(answer._request_id ?? '', /^req_/)
})

mock('stops a chat at max_completion_tokens', async () => {
  const options = { model: 'mock', messages, max_completion_tokens: 2 }
  const answer = await soon(client.chat.completions.create(options))
  assert.is(answer.choices[0]?.message.content, 'You said:')
  assert.is(answer.choices[0]?.finish_reason, 'length')
  assert.is(answer.usage?.completion_tokens, 2)
})

mock('streams a chat, with usage if the request asks for it', async () => {
  const options = { model: 'mock', messages, stream: true } as const
  const plain = await all(client.chat.completions.create(options))
  const deltas = plain.map(({ choices }) => choices[0]?.delta.content ?? '')
  assert.equal(deltas, ['', 'You', ' said:', ' Hello', ' there', ''])
  assert.not(plain.some(({ usage }) => usage))
  const counted = await all(
    client.chat.completions.create({ ...options, stream_options: { include_usage: true } }),
  )
  assert.is(counted.length, plain.length + 1)
  assert.equal(counted.at(-1)?.choices, [])
  assert.is(counted.at(-1)?.usage?.total_tokens, 9)
})

mock('streams a chat to the helper that assembles it', async () => {
  const stream = client.chat.completions.stream({ model: 'mock', messages })
  const final = await soon(stream.finalChatCompletion())
  assert.is(final.choices[0]?.message.content, 'You said: Hello there')
})

mock('lists its models', async () => {
  const ids = (await all(Promise.resolve(client.models.list()))).map(({ id }) => id)
  assert.equal(ids, ['mock'])
})

mock('refuses a request with errors that the SDK knows', async () => {
  const bad = await faultOf(client.chat.completions.create({ model: 'mock', messages: [] }))
  assert.instance(bad, OpenAI.BadRequestError)
  assert.is(bad.param, 'messages')
  assert.instance(await faultOf(client.get('/nowhere')), OpenAI.NotFoundError)
})

mock.run()
