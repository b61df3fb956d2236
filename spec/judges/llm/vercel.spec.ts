// The Vercel AI SDK through a gateway, with each of its providers.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, embed, generateText, streamText } from 'ai'
import type { LanguageModel } from 'ai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { answers, LlmStream } from '../../support/llm-backend.ts'
import { remainingTokens, tokens } from '../../support/llm/asking.ts'
import { bytesOf } from '../../support/llm/fixture.ts'
import { all, BUDGET, doubled, echoed, failureOf, mocked, soon } from '../../support/llm/judging.ts'

const judge = suite('Vercel AI SDK')
const stage = new Stage()
judge.after.each(() => stage.clear())

interface Kind {
  readonly model: (url: string) => LanguageModel
  /** A gateway with a provider of this dialect. */
  readonly gateway: (stage: Stage) => Promise<RunningGateway>
  /** A stream in this dialect. */
  readonly file: string
}

const KINDS: Record<string, Kind> = {
  'OpenAI responses': {
    model: (baseURL) => createOpenAI({ apiKey: 'none', baseURL })('mock'),
    gateway: echoed,
    file: 'responses-stream.sse',
  },
  'OpenAI chat': {
    model: (baseURL) => createOpenAI({ apiKey: 'none', baseURL }).chat('mock'),
    gateway: mocked,
    file: 'chat-stream.sse',
  },
  'Anthropic messages': {
    model: (baseURL) => createAnthropic({ apiKey: 'none', baseURL })('mock'),
    gateway: mocked,
    file: 'messages-stream.sse',
  },
  // The SDK does not request usage: the gateway does.
  'a compatible chat': {
    model: (baseURL) => createOpenAICompatible({ name: 'mock', baseURL })('mock'),
    gateway: mocked,
    file: 'chat-stream.sse',
  },
}

function urlOf({ port }: { port: number }): string {
  return `http://127.0.0.1:${port}/v1`
}

const asked = { prompt: 'Hello there', maxRetries: 0, maxOutputTokens: 9 }

for (const [name, { model, gateway: start, file }] of Object.entries(KINDS)) {
  judge(`generates and streams text with ${name}`, async () => {
    const gateway = await start(stage)
    const given = { ...asked, model: model(urlOf(gateway)) }
    const { text, usage } = await soon(generateText(given))
    assert.is(text, 'You said: Hello there')
    const used = usage.inputTokens! + usage.outputTokens!
    assert.is(remainingTokens(gateway), BUDGET - used)
    const words = await all(Promise.resolve(streamText(given).textStream))
    assert.equal(words, ['You', ' said:', ' Hello', ' there'])
    assert.is(remainingTokens(gateway), BUDGET - 2 * used)
  })

  judge(`cancels the provider call when the client aborts, with ${name}`, async () => {
    const stream = new LlmStream()
    const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
    const controller = new AbortController()
    const { signal: abortSignal } = controller
    const given = { ...asked, model: model(urlOf(gateway)), abortSignal, onError: () => {} }
    const parts = all(Promise.resolve(streamText(given).fullStream))
    await stream.opened()
    await stream.send(bytesOf(file).subarray(0, 100))
    controller.abort()
    await stream.left()
    assert.is((await parts).at(-1)?.type, 'abort')
    const [line] = await gateway.logged(1)
    assert.is(line!['outcome'], 'client_closed')
  })

  judge(`reports a truncated stream, with ${name}`, async () => {
    const stream = new LlmStream()
    const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
    const given = { ...asked, model: model(urlOf(gateway)), onError: () => {} }
    const parts = all(Promise.resolve(streamText(given).fullStream))
    // Some of its providers report the error as a stream part, others throw.
    const isReported = parts.then(
      (list) => list.some(({ type }) => type === 'error'),
      () => true,
    )
    await stream.opened()
    const bytes = bytesOf(file)
    await stream.send(bytes.subarray(0, bytes.indexOf('\n\n') + 2))
    stream.cut()
    assert.ok(await isReported)
  })

  judge(`reports a rate limit as its own error type, with ${name}`, async () => {
    const { gateway, backend } = await doubled(stage, tokens(1), answers.events([bytesOf(file)]))
    const given = { ...asked, model: model(urlOf(gateway)) }
    await all(Promise.resolve(streamText(given).textStream))
    const failure = await failureOf(generateText(given))
    assert.ok(APICallError.isInstance(failure))
    assert.equal([failure.statusCode, failure.isRetryable], [429, true])
    assert.is(failure.responseHeaders?.['x-ratelimit-remaining'], '0')
    assert.is(backend.requests.length, 1)
  })
}

judge('embeds', async () => {
  const gateway = await echoed(stage)
  const provider = createOpenAI({ apiKey: 'none', baseURL: urlOf(gateway) })
  const { embedding, usage } = await soon(
    embed({ model: provider.embedding('mock'), value: 'Hello', maxRetries: 0 }),
  )
  assert.is(embedding.length, 8)
  assert.is(remainingTokens(gateway), BUDGET - usage.tokens)
})

judge('retries after the window', async () => {
  const policies = 'rateLimit: { local: [{ requests: 1, unit: Seconds }] }'
  const { gateway } = await doubled(stage, policies, answers.json(bytesOf('chat.json').toString()))
  const model = KINDS['a compatible chat']!.model(urlOf(gateway))
  const given = { ...asked, model, maxRetries: 3 }
  const texts = [await soon(generateText(given)), await soon(generateText(given))]
  assert.is(texts[0]!.text, texts[1]!.text)
})

judge.run()
