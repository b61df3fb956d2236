// The mock provider as the backend of a whole gateway.

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../../support/deadline.ts'
import { Stage } from '../../../support/gateway.ts'
import type { RunningGateway } from '../../../support/gateway.ts'

const WAIT_MS = 30_000
const mock = suite('mock provider in a gateway')
const stage = new Stage()
mock.after.each(() => stage.clear())

const ROUTE = 'routes: [{ name: all, backends: [{ ai: { name: m, provider: { mock: {} } } }] }]\n'
const messages = [
  { role: 'user', content: 'Hello there' },
] satisfies OpenAI.ChatCompletionMessageParam[]

function openaiOf({ port }: RunningGateway): OpenAI {
  return new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 })
}

async function soon<T>(promise: PromiseLike<T>): Promise<T> {
  return deadline(Promise.resolve(promise), WAIT_MS, 'an answer')
}

mock('answers, and the log has its token counts', async () => {
  const gateway = await stage.gateway(ROUTE)
  const client = openaiOf(gateway)
  const answer = await soon(client.chat.completions.create({ model: 'mock', messages }))
  assert.is(answer.choices[0]?.message.content, 'You said: Hello there')
  const [line] = await gateway.logged(1)
  assert.is(line?.['endpoint'], 'mock')
  assert.is(line?.['gen_ai.usage.input_tokens'], 3)
  assert.is(line?.['gen_ai.usage.output_tokens'], 4)
})

mock('streams in both dialects', async () => {
  const gateway = await stage.gateway(ROUTE)
  const chat = openaiOf(gateway).chat.completions.stream({ model: 'mock', messages })
  const { choices } = await soon(chat.finalChatCompletion())
  assert.is(choices[0]?.message.content, 'You said: Hello there')
  const baseURL = `http://127.0.0.1:${gateway.port}`
  const client = new Anthropic({ apiKey: 'none', baseURL, maxRetries: 0 })
  const stream = client.messages.stream({ model: 'mock', messages, max_tokens: 9 })
  const { content } = await soon(stream.finalMessage())
  assert.equal(content, [{ type: 'text', text: 'You said: Hello there' }])
  assert.equal(await gateway.outcomes(2), ['complete', 'complete'])
})

mock.run()
