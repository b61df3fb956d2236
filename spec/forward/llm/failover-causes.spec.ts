// What makes the gateway call the next provider, apart from statuses of overload: a late response, a refused key, a stream that
// begins with an error, and how much of a request is kept for that.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { answers, chatEventsOf, chatOf, LlmBackend, LlmStream } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import { CHAT, chatAsking, post, remainingTokens, tokens } from '../../support/llm/asking.ts'

const causes = suite('causes of a failover')
const stage = new Stage()
causes.after.each(() => stage.clear())

interface Pair {
  readonly first: LlmBackend
  readonly second: LlmBackend
  readonly gateway: RunningGateway
}

interface PairOptions {
  /** `config.llm`, in flow form without braces. */
  readonly llm?: string
  readonly policies?: string
  readonly keys?: 'of the gateway' | 'of the client'
}

const SECOND = answers.json({ ...chatOf(5, 5), model: 'second' })
const NEVER: LlmAnswer = () => {}
const STREAMED = chatAsking({ stream: true })

/** Two providers, the second one after the first. */
async function pair(first: LlmAnswer, options: PairOptions = {}): Promise<Pair> {
  const { llm = '', policies = '', keys = 'of the gateway' } = options
  const one = stage.add(await LlmBackend.start(first))
  const two = stage.add(await LlmBackend.start(SECOND))
  const group = (name: string, { port }: LlmBackend): string => {
    const auth = keys === 'of the gateway' ? `policies: { backendAuth: { key: ${name} } }` : ''
    return `{ providers: [{ name: ${name}, provider: { openAI: {} }, hostOverride: "127.0.0.1:${port}", ${auth} }] }`
  }
  const groups = `[${group('one', one)}, ${group('two', two)}]`
  const gateway = await stage.gateway(
    `config: { llm: { ${llm} } }\n` +
      `routes: [{ backends: [{ ai: { groups: ${groups} } }], policies: { ${policies} } }]\n`,
  )
  return { first: one, second: two, gateway }
}

causes('are a provider that sends nothing in time', async () => {
  const { gateway, first, second } = await pair(NEVER, { llm: 'firstByteTimeout: 50ms' })
  const response = await post(gateway)
  assert.equal([response.status, second.requests.length], [200, 1])
  assert.match(response.text, '"second"')
  assert.is(second.requests[0]!.text, chatAsking())
  // The first provider is in cooldown now.
  assert.is((await post(gateway)).status, 200)
  assert.is(first.requests.length, 1)
})

causes('are not a slow provider with no other after it', async () => {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  const { gateway, first, second } = await pair(answers.fails(500), {
    llm: 'firstByteTimeout: 20ms',
  })
  second.answer(answers.held(opened, SECOND))
  const answered = post(gateway)
  await second.completeRequest(1)
  await first.completeRequest(1)
  // Longer than the time, which does not apply to the last provider.
  setTimeout(open, 100)
  assert.is((await answered).status, 200)
})

causes('are not a client that sends its request slowly', async () => {
  const { gateway, first, second } = await pair(SECOND, { llm: 'firstByteTimeout: 20ms' })
  const client = await stage.client(gateway)
  const body = chatAsking()
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`)
  client.send(body.slice(0, 20))
  await first.requestHead(1)
  await new Promise((resolve) => setTimeout(resolve, 100))
  client.send(body.slice(20))
  assert.match(await client.until(/"usage"/), ' 200 ')
  assert.equal([first.requests.length, second.requests.length], [1, 0])
})

causes('are 401, 403 and 404 for a key of the gateway', async () => {
  for (const status of [401, 403, 404]) {
    const { gateway, first, second } = await pair(answers.fails(status), { policies: tokens(1000) })
    const response = await post(gateway)
    assert.equal([response.status, second.requests.length], [200, 1], String(status))
    assert.is(remainingTokens(gateway), 990)
    await post(gateway)
    // A model that one provider refuses is no reason to leave the provider alone.
    assert.is(first.requests.length, status === 401 ? 1 : 2, String(status))
    second.answer(answers.fails(status))
    const last = await post(gateway)
    assert.equal([last.status, last.text.includes(`the spec says ${status}`)], [status, true])
  }
})

causes('are not 401, 403 and 404 for a key of the client', async () => {
  for (const status of [401, 403, 404]) {
    const { gateway, second } = await pair(answers.fails(status), { keys: 'of the client' })
    const response = await post(gateway, chatAsking(), { fields: { authorization: 'Bearer mine' } })
    assert.equal([response.status, second.requests.length], [status, 0])
  }
})

const OVERLOADS: readonly string[] = [
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  'data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n',
  'data: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}\r\n\r\n',
  ': waiting\n\nevent: ping\ndata: {"type":"ping"}\n\nevent: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"slow down"}\n\n',
]

causes('are streams that begin with an overload error', async () => {
  for (const events of OVERLOADS)
    for (const pieces of [[events], events.split(''), [events.slice(0, 30), events.slice(30)]]) {
      const { gateway, second } = await pair(answers.events(pieces), { policies: tokens(1000) })
      const response = await post(gateway, STREAMED)
      assert.equal([response.status, second.requests.length], [200, 1], events)
      assert.match(response.text, '"second"')
      assert.is(remainingTokens(gateway), 990)
    }
})

causes('are streams of Amazon that begin with an overload error', async () => {
  const name = ':exception-type'
  const value = 'throttlingException'
  const frame = `\0\0\0\x60\0\0\0\x40....\x0f${name}\x07\0\x13${value}{"message":"slow down"}....`
  const fields = { 'content-type': 'application/vnd.amazon.eventstream' }
  const { gateway, second } = await pair(answers.events([frame], fields))
  assert.is((await post(gateway, STREAMED)).status, 200)
  assert.is(second.requests.length, 1)
})

causes('are streams that end before their first event', async () => {
  const stream = new LlmStream()
  const { gateway, second } = await pair(stream.answer)
  const response = post(gateway, STREAMED)
  await stream.opened()
  stream.cut()
  assert.match((await response).text, '"second"')
  assert.is(second.requests.length, 1)
})

causes('are not other streams, which arrive unchanged', async () => {
  const refusal =
    'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"no"}}\n\n'
  const chat = chatEventsOf(1, 1).join('')
  const late = `${chat}${OVERLOADS[0]}`
  for (const events of [refusal, chat, late, ': only a comment\n\n', ''])
    for (const pieces of [[events], events.split('')]) {
      const policies = 'ai: { usage: passthrough }'
      const { gateway, second } = await pair(answers.events(pieces), { policies })
      const response = await post(gateway, STREAMED)
      assert.equal([response.status, response.text, response.end], [200, events, 'whole'])
      assert.is(second.requests.length, 0)
    }
})

causes('do not matter without another provider: the last stream is forwarded', async () => {
  const { gateway, second } = await pair(answers.events([OVERLOADS[0]!]))
  second.answer(answers.events([OVERLOADS[1]!]))
  const response = await post(gateway, STREAMED)
  assert.equal([response.status, response.text], [200, OVERLOADS[1]])
})

causes('do not matter for a request that was not kept', async () => {
  const long = chatAsking({ x: 'x'.repeat(4_000_000) })
  const whole = await pair(answers.fails(500))
  assert.is((await post(whole.gateway, long)).status, 200)
  assert.is(whole.second.requests[0]!.text, long)

  const longer = chatAsking({ x: 'x'.repeat(4_300_000) })
  assert.is((await post((await pair(answers.fails(500))).gateway, longer)).status, 500)

  const small = await pair(answers.fails(500), { llm: 'maxKeptBytes: 100' })
  assert.is((await post(small.gateway, chatAsking({ x: 'x'.repeat(100) }))).status, 500)

  const none = await pair(answers.events([OVERLOADS[0]!]), { llm: 'maxKeptBytes: 0' })
  assert.is((await post(none.gateway, STREAMED)).text, OVERLOADS[0])
})

causes.run()
