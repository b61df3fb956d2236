// The Vercel AI SDK works with the mock provider, through each of its provider packages.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai'
import type { LanguageModel } from 'ai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../../support/deadline.ts'
import { MockServer } from './mock-server.ts'

const WAIT_MS = 30_000
const mock = suite('mock provider for the Vercel AI SDK')

let server: MockServer
mock.before(async () => {
  server = await MockServer.start()
})
mock.after(() => server.close())

async function soon<T>(promise: PromiseLike<T>): Promise<T> {
  return deadline(Promise.resolve(promise), WAIT_MS, 'an answer')
}

const MODELS: Record<string, (url: string) => LanguageModel> = {
  'OpenAI chat': (url) => createOpenAI({ apiKey: 'none', baseURL: `${url}/v1` }).chat('mock'),
  'Anthropic messages': (url) => createAnthropic({ apiKey: 'none', baseURL: `${url}/v1` })('mock'),
  'a compatible chat': (url) =>
    createOpenAICompatible({ name: 'mock', baseURL: `${url}/v1`, includeUsage: true })('mock'),
}

for (const [name, modelOf] of Object.entries(MODELS)) {
  mock(`generates text through ${name}`, async () => {
    const options = {
      model: modelOf(server.url),
      prompt: 'Hello there',
      maxRetries: 0,
      maxOutputTokens: 9,
    }
    const { text, finishReason, usage } = await soon(generateText(options))
    assert.is(text, 'You said: Hello there')
    assert.is(finishReason, 'stop')
    assert.equal([usage.inputTokens, usage.outputTokens], [3, 4])
  })

  mock(`streams text through ${name}`, async () => {
    const options = { prompt: 'Hello there', maxRetries: 0, maxOutputTokens: 3 }
    const result = streamText({ model: modelOf(server.url), ...options })
    const words: string[] = []
    const read = async (): Promise<void> => {
      for await (const word of result.textStream) words.push(word)
    }
    await deadline(read(), WAIT_MS, 'the stream to end')
    assert.equal(words, ['You', ' said:', ' Hello'])
    assert.is(await soon(result.finishReason), 'length')
    const usage = await soon(result.usage)
    assert.equal([usage.inputTokens, usage.outputTokens], [3, 3])
  })
}

mock.run()
