// The OpenAI SDK through a gateway: responses, cancellation, rate limits and truncated streams.

import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, chatEventsOf, chatOf, LlmStream } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import { remainingTokens, tokens } from '../../support/llm/asking.ts'
import { all, BUDGET, doubled, echoed, failureOf, mocked, soon } from '../../support/llm/judging.ts'

const judge = suite('OpenAI SDK')
const stage = new Stage()
judge.after.each(() => stage.clear())

function clientOf({ port }: { port: number }, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries })
}

const messages = [
  { role: 'user', content: 'Hello there' },
] satisfies OpenAI.ChatCompletionMessageParam[]
const asked = { model: 'mock', messages }

judge(
  'chats, whole and in a stream, and does not see that the stream was asked to count',
  async () => {
    const gateway = await mocked(stage)
    const { chat } = clientOf(gateway)
    const whole = await soon(chat.completions.create(asked))
    assert.is(whole.choices[0]?.message.content, 'You said: Hello there')
    const used = whole.usage!.total_tokens
    assert.is(remainingTokens(gateway), BUDGET - used)
    const chunks = await all(chat.completions.create({ ...asked, stream: true }))
    assert.is(
      chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join(''),
      'You said: Hello there',
    )
    assert.not(chunks.some(({ usage }) => usage))
    assert.is(remainingTokens(gateway), BUDGET - 2 * used)
    const options = { include_usage: true }
    const counted = await all(
      chat.completions.create({ ...asked, stream: true, stream_options: options }),
    )
    assert.is(counted.at(-1)?.usage?.total_tokens, used)
    const helped = await soon(chat.completions.stream(asked).finalChatCompletion())
    assert.is(helped.choices[0]?.message.content, 'You said: Hello there')
    assert.is(remainingTokens(gateway), BUDGET - 4 * used)
  },
)

judge('lists models', async () => {
  const client = clientOf(await mocked(stage))
  const models = await all(Promise.resolve(client.models.list()))
  assert.equal(
    models.map(({ id }) => id),
    ['mock'],
  )
})

judge('completes, responds and embeds', async () => {
  const gateway = await echoed(stage)
  const client = clientOf(gateway)
  const text = await all(client.completions.create({ model: 'mock', prompt: 'Hi', stream: true }))
  assert.is(text.map(({ choices }) => choices[0]?.text ?? '').join(''), 'You said: Hi')
  const response = await soon(client.responses.create({ model: 'mock', input: 'Hi' }))
  assert.is(response.output_text, 'You said: Hi')
  const events = await all(client.responses.create({ model: 'mock', input: 'Hi', stream: true }))
  assert.is(events.at(-1)?.type, 'response.completed')
  const vectors = await soon(client.embeddings.create({ model: 'mock', input: ['a', 'b'] }))
  assert.is(vectors.data.length, 2)
  const lines = await gateway.logged(4)
  const total = lines
    .flatMap((line) => [line['gen_ai.usage.input_tokens'], line['gen_ai.usage.output_tokens']])
    .reduce((sum: number, count) => sum + Number(count ?? 0), 0)
  assert.is(remainingTokens(gateway), BUDGET - total)
})

judge('assembles tool calls from a stream', async () => {
  const call = (fields: unknown): string =>
    `data: ${JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta: { tool_calls: [fields] }, finish_reason: null }],
    })}\n\n`
  const parts = [
    call({ index: 0, id: 't1', type: 'function', function: { name: 'add', arguments: '{"a":' } }),
    call({ index: 0, function: { arguments: '"\\"usage\\": 1"}' } }),
  ]
  const [first = '', , ...rest] = chatEventsOf(9, 9)
  const events = answers.events([first, ...parts, ...rest])
  const { gateway } = await doubled(stage, tokens(BUDGET), events)
  const stream = clientOf(gateway).chat.completions.stream({
    ...asked,
    tools: [{ type: 'function', function: { name: 'add', parameters: {} } }],
  })
  const { choices } = await soon(stream.finalChatCompletion())
  const [made] = choices[0]!.message.tool_calls!
  assert.equal(made!.type === 'function' && made!.function.arguments, '{"a":"\\"usage\\": 1"}')
  assert.is(remainingTokens(gateway), BUDGET - 18)
})

judge('cancels the provider call when the client aborts during a stream', async () => {
  const stream = new LlmStream()
  const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
  const leave = async (): Promise<void> => {
    const chunks = await clientOf(gateway).chat.completions.create({ ...asked, stream: true })
    for await (const { choices } of chunks) if (choices[0]?.delta.content) return
  }
  const left = leave()
  await stream.opened()
  await stream.send(chatEventsOf(1, 1)[0]!)
  await soon(left)
  await stream.left()
  const [line] = await gateway.logged(1)
  assert.is(line!['outcome'], 'client_closed')
})

judge('cancels the provider call when the client aborts before the response', async () => {
  let onClose = (): void => {}
  const closed = new Promise<void>((resolve) => (onClose = resolve))
  const silent: LlmAnswer = (_request, response) => void response.on('close', onClose)
  const { gateway, backend } = await doubled(stage, '', silent)
  const controller = new AbortController()
  const { signal } = controller
  const failure = failureOf(clientOf(gateway).chat.completions.create(asked, { signal }))
  await backend.completeRequest(1)
  controller.abort()
  assert.instance(await failure, OpenAI.APIUserAbortError)
  await soon(closed)
  const [line] = await gateway.logged(1)
  assert.is(line!['http.status'], 499)
})

judge('reports a rate limit as its own error type', async () => {
  const { gateway, backend } = await doubled(stage, tokens(1), answers.json(chatOf(5, 5)))
  const { chat } = clientOf(gateway)
  await soon(chat.completions.create(asked))
  const failure = await failureOf(chat.completions.create({ ...asked, stream: true }))
  assert.instance(failure, OpenAI.RateLimitError)
  const { headers, message } = failure as InstanceType<typeof OpenAI.RateLimitError>
  assert.match(message, 'rate limit exceeded')
  assert.is(headers?.get('x-ratelimit-remaining'), '0')
  assert.is(backend.requests.length, 1)
})

judge('retries after the window and gets its response', async () => {
  const policies = 'rateLimit: { local: [{ requests: 1, unit: Seconds }] }'
  const { gateway } = await doubled(stage, policies, answers.json(chatOf(5, 5)))
  const { chat } = clientOf(gateway, 3)
  const responses = [
    await soon(chat.completions.create(asked)),
    await soon(chat.completions.create(asked)),
  ]
  assert.is(responses.length, 2)
  const lines = await gateway.logged(2)
  assert.is(lines.at(-1)!['http.status'], 200)
})

judge('reports a truncated stream as an error, never as a clean end', async () => {
  const stream = new LlmStream()
  const { gateway } = await doubled(stage, tokens(BUDGET), stream.answer)
  const seen: string[] = []
  const read = async (): Promise<void> => {
    const chunks = await clientOf(gateway).chat.completions.create({ ...asked, stream: true })
    for await (const { choices } of chunks) seen.push(choices[0]?.delta.content ?? '')
  }
  const failure = failureOf(read())
  await stream.opened()
  await stream.send(chatEventsOf(1, 1)[0]!)
  stream.cut()
  await failure
  assert.equal(seen, ['It'])
})

judge('parses errors of the gateway like those of its provider', async () => {
  const client = clientOf(await mocked(stage))
  const missing = await failureOf(client.chat.completions.create({ ...asked, model: 'other' }))
  assert.instance(missing, OpenAI.NotFoundError)
  assert.is((missing as InstanceType<typeof OpenAI.NotFoundError>).code, 'model_not_found')
  const { gateway } = await doubled(stage, '', answers.fails(500))
  const failed = await failureOf(clientOf(gateway).chat.completions.create(asked))
  assert.instance(failed, OpenAI.InternalServerError)
})

judge.run()
