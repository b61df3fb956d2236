// The Anthropic SDK through a gateway: what it is told, when it leaves, and how it hears of limits and cuts.

import Anthropic from '@anthropic-ai/sdk'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, LlmBackend, LlmStream } from '../../support/llm-backend.ts'
import { aiRoute, left, tokens } from '../../support/llm/asking.ts'
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

/** Events of a stored stream, as they were written. */
const EVENTS = bytesOf('messages-stream.sse')
  .toString()
  .split(/(?<=\n\n)/)

judge('asks for messages, whole and in a stream', async () => {
  const gateway = await mocked(stage)
  const { messages } = clientOf(gateway)
  const whole = await soon(messages.create(asked))
  assert.equal(whole.content[0]?.type === 'text' && whole.content[0].text, 'You said: Hello there')
  const used = whole.usage.input_tokens + whole.usage.output_tokens
  assert.is(left(gateway), BUDGET - used)
  const events = await all(messages.create({ ...asked, stream: true }))
  assert.is(events.at(-1)?.type, 'message_stop')
  const helped = await soon(messages.stream(asked).finalMessage())
  assert.equal(helped.content, whole.content)
  assert.is(left(gateway), BUDGET - 3 * used)
})

judge('counts tokens, at no cost', async () => {
  const gateway = await mocked(stage)
  const { model, messages } = asked
  const count = await soon(clientOf(gateway).messages.countTokens({ model, messages }))
  assert.ok(count.input_tokens > 0)
  assert.is(left(gateway), BUDGET)
})

judge('sends its key under the name of the provider, or has it replaced', async () => {
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

judge('is counted with what a cache has read and written', async () => {
  const { gateway } = await doubled(stage, tokens(BUDGET), answers.events(EVENTS))
  const message = await soon(clientOf(gateway).messages.stream(asked).finalMessage())
  const { input_tokens, output_tokens } = message.usage
  assert.equal([input_tokens, output_tokens], [25, 42])
  assert.is(left(gateway), BUDGET - 2373 - 42)
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.usage.input_tokens'], 2373)
})

judge('ends the call of the provider when it leaves in the middle', async () => {
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

judge('knows a limit for what it is', async () => {
  const { gateway, backend } = await doubled(stage, tokens(1), answers.events(EVENTS))
  const { messages } = clientOf(gateway)
  await soon(messages.stream(asked).finalMessage())
  const failure = await failureOf(messages.create(asked))
  assert.instance(failure, Anthropic.RateLimitError)
  assert.is(backend.requests.length, 1)
})

judge('waits for the window, and then has its answer', async () => {
  const policies = 'rateLimit: { local: [{ requests: 1, unit: Seconds }] }'
  const { gateway } = await doubled(stage, policies, answers.events(EVENTS))
  const { messages } = clientOf(gateway, 3)
  for (let times = 2; times > 0; times--) await soon(messages.stream(asked).finalMessage())
})

judge('hears of a cut, and never of a clean end', async () => {
  const stream = new LlmStream()
  const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
  const failure = failureOf(clientOf(gateway).messages.stream(asked).finalMessage())
  await stream.opened()
  for (const event of EVENTS.slice(0, 3)) await stream.send(event)
  stream.cut()
  assert.instance(await failure, Error)
})

judge('reads the errors of the gateway as it does those of its provider', async () => {
  const gateway = await mocked(stage)
  const failure = await failureOf(clientOf(gateway).messages.create({ ...asked, model: 'other' }))
  assert.instance(failure, Anthropic.NotFoundError)
  const { error } = failure as InstanceType<typeof Anthropic.NotFoundError>
  assert.match(JSON.stringify(error), '"type":"not_found_error"')
})

judge.run()
