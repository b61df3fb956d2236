// The OpenAI SDK takes the mock for the real thing.

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

mock('stops a chat at its most tokens', async () => {
  const asked = { model: 'mock', messages, max_completion_tokens: 2 }
  const answer = await soon(client.chat.completions.create(asked))
  assert.is(answer.choices[0]?.message.content, 'You said:')
  assert.is(answer.choices[0]?.finish_reason, 'length')
  assert.is(answer.usage?.completion_tokens, 2)
})

mock('streams a chat, with usage for those who ask', async () => {
  const asked = { model: 'mock', messages, stream: true } as const
  const plain = await all(client.chat.completions.create(asked))
  const deltas = plain.map(({ choices }) => choices[0]?.delta.content ?? '')
  assert.equal(deltas, ['', 'You', ' said:', ' Hello', ' there', ''])
  assert.not(plain.some(({ usage }) => usage))
  const counted = await all(
    client.chat.completions.create({ ...asked, stream_options: { include_usage: true } }),
  )
  assert.is(counted.length, plain.length + 1)
  assert.equal(counted.at(-1)?.choices, [])
  assert.is(counted.at(-1)?.usage?.total_tokens, 9)
})

mock('streams a chat to the helper that puts it together', async () => {
  const stream = client.chat.completions.stream({ model: 'mock', messages })
  const final = await soon(stream.finalChatCompletion())
  assert.is(final.choices[0]?.message.content, 'You said: Hello there')
})

mock('answers a legacy completion', async () => {
  const asked = { model: 'mock', prompt: 'Hello' }
  const answer = await soon(client.completions.create(asked))
  assert.is(answer.choices[0]?.text, 'You said: Hello')
  assert.is(answer.usage?.completion_tokens, 3)
  const options = { include_usage: true }
  const streamed = { ...asked, stream: true, stream_options: options } as const
  const chunks = await all(client.completions.create(streamed))
  const text = chunks.map(({ choices }) => choices[0]?.text ?? '').join('')
  assert.is(text, 'You said: Hello')
  assert.is(chunks.at(-1)?.usage?.total_tokens, 5)
})

mock('answers a response', async () => {
  const input = [{ role: 'user', content: 'Hello' }] satisfies OpenAI.Responses.ResponseInput
  const answer = await soon(client.responses.create({ model: 'mock', input, instructions: 'Hm' }))
  assert.is(answer.output_text, 'You said: Hello')
  assert.is(answer.status, 'completed')
  assert.is(answer.usage?.input_tokens, 2)
  assert.is(answer.usage?.output_tokens, 3)
})

mock('streams a response to the helper that puts it together', async () => {
  const types: string[] = []
  const stream = client.responses.stream({ model: 'mock', input: 'Hello' })
  stream.on('event', ({ type }) => types.push(type))
  const final = await soon(stream.finalResponse())
  assert.is(final.output_text, 'You said: Hello')
  assert.is(final.usage?.total_tokens, 5)
  assert.equal(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
})

mock('ends a response that ran out of tokens as incomplete', async () => {
  const asked = { model: 'mock', input: 'Hello', max_output_tokens: 1, stream: true } as const
  const last = (await all(client.responses.create(asked))).at(-1)
  if (last?.type !== 'response.incomplete') throw new Error(`ended with ${last?.type}`)
  assert.is(last.response.incomplete_details?.reason, 'max_output_tokens')
  assert.is(last.response.usage?.output_tokens, 1)
})

mock('gives the same vectors as base64 and as numbers', async () => {
  const asked = { model: 'mock', input: ['a', 'b'], dimensions: 16 }
  const packed = await soon(client.embeddings.create(asked))
  const plain = await soon(client.embeddings.create({ ...asked, encoding_format: 'float' }))
  assert.is(packed.data[0]?.embedding.length, 16)
  assert.equal(
    packed.data.map(({ embedding }) => [...embedding]),
    plain.data.map(({ embedding }) => embedding),
  )
  assert.not.equal(plain.data[0]?.embedding, plain.data[1]?.embedding)
  assert.equal(plain.usage, { prompt_tokens: 1, total_tokens: 1 })
})

mock('lists its models', async () => {
  const ids = (await all(Promise.resolve(client.models.list()))).map(({ id }) => id)
  assert.ok(ids.includes('mock'))
  assert.ok(ids.includes('mock-error-429'))
})

mock('fails as it is told to, in words that the SDK knows', async () => {
  const ask = (model: string) => client.chat.completions.create({ model, messages })
  const limited = await faultOf(ask('mock-error-429'))
  assert.instance(limited, OpenAI.RateLimitError)
  assert.is(limited.code, 'rate_limit_exceeded')
  assert.is(limited.headers?.get('retry-after'), '1')
  assert.instance(await faultOf(ask('mock-error-500')), OpenAI.InternalServerError)
  const bad = await faultOf(client.chat.completions.create({ model: 'mock', messages: [] }))
  assert.instance(bad, OpenAI.BadRequestError)
  assert.is(bad.param, 'messages')
  assert.instance(await faultOf(client.get('/nowhere')), OpenAI.NotFoundError)
})

mock('dies in the middle when told to', async () => {
  const asked = { model: 'mock-cut', messages, stream: true } as const
  const seen: string[] = []
  const read = async (): Promise<void> => {
    for await (const { choices } of await client.chat.completions.create(asked))
      seen.push(choices[0]?.delta.content ?? '')
  }
  try {
    await deadline(read(), WAIT_MS, 'the stream to end')
    assert.unreachable('it ended well')
  } catch (error) {
    assert.not.instance(error, assert.Assertion)
  }
  assert.equal(seen, ['', 'You', ' said:'])
})

mock('can be left in the middle of a slow stream', async () => {
  const asked = { model: 'mock-slow', messages, stream: true } as const
  const leave = async (): Promise<string> => {
    for await (const { choices } of await client.chat.completions.create(asked))
      if (choices[0]?.delta.content) return choices[0].delta.content
    return ''
  }
  assert.is(await deadline(leave(), WAIT_MS, 'a word'), 'You')
})

mock.run()
