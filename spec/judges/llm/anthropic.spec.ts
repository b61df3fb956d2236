// The Anthropic SDK through a gateway: responses, cancellation, rate limits and truncated streams.

import Anthropic from '@anthropic-ai/sdk'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, LlmBackend, LlmStream } from '../../support/llm-backend.ts'
import { aiRoute, remainingTokens, tokens } from '../../support/llm/asking.ts'
import { bytesOf } from '../../support/llm/fixture.ts'
import { all, BUDGET, doubled, failureOf, mocked, soon } from '../../support/llm/judging.ts'

const judge = suite('Anthropic SDK')
const stage = new Stage()
judge.after.each(() => stage.clear())

function clientOf({ port }: { port: number }, maxRetries = 0): Anthropic {
  return new Anthropic({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}`, maxRetries })
}

const asked = {
  model: 'mock',
  max_tokens: 64,
  messages: [{ role: 'user' as const, content: 'Hello there' }],
}

/** The events of a stored stream, unchanged. */
const EVENTS = bytesOf('messages-stream.sse')
  .toString()
  .split(/(?<=\n\n)/)

judge('requests messages, complete and as a stream', async () => {
  const gateway = await mocked(stage)
  const { messages } = clientOf(gateway)
  const whole = await soon(messages.create(asked))
  assert.equal(whole.content[0]?.type === 'text' && whole.content[0].text, 'You said: Hello there')
  const used = whole.usage.input_tokens + whole.usage.output_tokens
  assert.is(remainingTokens(gateway), BUDGET - used)
  const events = await all(messages.create({ ...asked, stream: true }))
  assert.is(events.at(-1)?.type, 'message_stop')
  const helped = await soon(messages.stream(asked).finalMessage())
  assert.equal(helped.content, whole.content)
  assert.is(remainingTokens(gateway), BUDGET - 3 * used)
})

judge('counts tokens without a charge', async () => {
  const gateway = await mocked(stage)
  const { model, messages } = asked
  const count = await soon(clientOf(gateway).messages.countTokens({ model, messages }))
  assert.ok(count.input_tokens > 0)
  assert.is(remainingTokens(gateway), BUDGET)
})

judge('sends its key in the header of the provider, or the gateway replaces it', async () => {
  const backend = stage.add(
    await LlmBackend.start(answers.json(bytesOf('messages.json').toString())),
  )
  const entry = 'name: p, provider: { anthropic: {} }'
  for (const policies of ['', 'backendAuth: { key: hush }'])
    await soon(
      clientOf(await stage.gateway(aiRoute(backend, { entry, policies }))).messages.create(asked),
    )
  assert.equal(
    backend.requests.map(({ headers }) => [headers['x-api-key'], headers.authorization]),
    [
      ['none', undefined],
      ['hush', undefined],
    ],
  )
})

judge('is charged for cache reads and writes', async () => {
  const { gateway } = await doubled(stage, tokens(BUDGET), answers.events(EVENTS))
  const message = await soon(clientOf(gateway).messages.stream(asked).finalMessage())
  const { input_tokens, output_tokens } = message.usage
  assert.equal([input_tokens, output_tokens], [25, 42])
  assert.is(remainingTokens(gateway), BUDGET - 2373 - 42)
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.usage.input_tokens'], 2373)
})

judge('cancels the provider call when the client aborts during a stream', async () => {
  const stream = new LlmStream()
  const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
  const helper = clientOf(gateway).messages.stream(asked)
  const failure = failureOf(helper.finalMessage())
  await stream.opened()
  const begun = new Promise((resolve) => helper.on('streamEvent', resolve))
  await stream.send(EVENTS[0]!)
  await soon(begun)
  helper.abort()
  assert.instance(await failure, Anthropic.APIUserAbortError)
  await stream.left()
})

judge('reports a rate limit as its own error type', async () => {
  const { gateway, backend } = await doubled(stage, tokens(1), answers.events(EVENTS))
  const { messages } = clientOf(gateway)
  await soon(messages.stream(asked).finalMessage())
  const failure = await failureOf(messages.create(asked))
  assert.instance(failure, Anthropic.RateLimitError)
  assert.is(backend.requests.length, 1)
})

judge('retries after the window and gets its response', async () => {
  const policies = 'rateLimit: { local: [{ requests: 1, unit: Seconds }] }'
  const { gateway } = await doubled(stage, policies, answers.events(EVENTS))
  const { messages } = clientOf(gateway, 3)
  for (let times = 2; times > 0; times--) await soon(messages.stream(asked).finalMessage())
})

judge('reports a truncated stream as an error, never as a clean end', async () => {
  const stream = new LlmStream()
  const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
  const failure = failureOf(clientOf(gateway).messages.stream(asked).finalMessage())
  await stream.opened()
  for (const event of EVENTS.slice(0, 3)) await stream.send(event)
  stream.cut()
  assert.instance(await failure, Error)
})

judge('parses errors of the gateway like those of its provider', async () => {
  const gateway = await mocked(stage)
  const failure = await failureOf(clientOf(gateway).messages.create({ ...asked, model: 'other' }))
  assert.instance(failure, Anthropic.NotFoundError)
  const { error } = failure as InstanceType<typeof Anthropic.NotFoundError>
  assert.match(JSON.stringify(error), '"type":"not_found_error"')
})

judge.run()
