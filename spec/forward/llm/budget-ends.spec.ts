// Every way in which an LLM request can end: its charge is settled once, with the counts that are known.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { answers, chatEventsOf, chatOf, LlmStream } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import {
  aiRoute,
  CHAT,
  chatAsking,
  estimateOf,
  remainingTokens,
  post,
  staged,
  tokens,
} from '../../support/llm/asking.ts'
import type { RawClient } from '../../support/raw-client.ts'

const ends = suite('ends of LLM requests')
const stage = new Stage()
ends.after.each(() => stage.clear())

const BUDGET = 1000
const LIMITED = { policies: tokens(BUDGET) }
const STREAMING = chatAsking({ stream: true })
const ESTIMATE = estimateOf(STREAMING)
const EVENTS = chatEventsOf(30, 12)

async function ask(gateway: RunningGateway, body = STREAMING): Promise<RawClient> {
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  return client
}

ends(
  'settle with the prompt when the client closes the connection before the response',
  async () => {
    const never = new Promise(() => {})
    const held = answers.held(never, answers.json(''))
    const { gateway, backend } = await staged(stage, LIMITED, held)
    const client = await ask(gateway)
    await backend.completeRequest(1)
    client.destroy()
    const [line] = await gateway.logged(1)
    assert.is(line!['outcome'], 'client_closed')
    assert.is(line!['gen_ai.usage.estimated'], ESTIMATE)
    assert.is(remainingTokens(gateway), BUDGET - ESTIMATE)
  },
)

ends(
  'settle with the events sent so far when the client closes the connection during the stream',
  async () => {
    const stream = new LlmStream()
    const { gateway } = await staged(stage, LIMITED, stream.answer)
    const client = await ask(gateway)
    await stream.opened()
    for (const event of EVENTS.slice(0, 2)) await stream.send(event)
    await client.until(/ is"/)
    client.destroy()
    await stream.left()
    const [line] = await gateway.logged(1)
    assert.is(line!['outcome'], 'client_closed')
    assert.is(line!['gen_ai.usage.estimated'], ESTIMATE + 2)
    assert.is(remainingTokens(gateway), BUDGET - ESTIMATE - 2)
  },
)

ends(
  'settle with the reported counts when the client closes the connection after them',
  async () => {
    const stream = new LlmStream()
    const { gateway } = await staged(stage, LIMITED, stream.answer)
    const body = chatAsking({ stream: true, stream_options: { include_usage: true } })
    const client = await ask(gateway, body)
    await stream.opened()
    for (const event of EVENTS.slice(0, 4)) await stream.send(event)
    await client.until(/"usage"/)
    client.destroy()
    const [line] = await gateway.logged(1)
    assert.is(line!['outcome'], 'client_closed')
    assert.is(line!['gen_ai.usage.output_tokens'], 12)
    assert.is(remainingTokens(gateway), BUDGET - 42)
  },
)

ends(
  'cut the response when the provider closes the connection, and settle with the events sent so far',
  async () => {
    const stream = new LlmStream()
    const { gateway } = await staged(stage, LIMITED, stream.answer)
    const client = await ask(gateway)
    await stream.opened()
    await stream.send(EVENTS[0]!)
    await client.until(/"It"/)
    stream.cut()
    const text = await client.untilClosed()
    assert.not.match(text, /\r\n0\r\n/)
    const [line] = await gateway.logged(1)
    assert.is(line!['outcome'], 'backend_reset')
    assert.is(remainingTokens(gateway), BUDGET - ESTIMATE - 1)
  },
)

ends('cost nothing when the provider fails, refuses or cannot be reached', async () => {
  const table: [answer: LlmAnswer, status: number][] = [
    [answers.fails(500), 500],
    [answers.fails(401), 401],
    [answers.fails(429), 429],
    [answers.hangsUp(), 503],
  ]
  for (const [answer, status] of table) {
    const { gateway } = await staged(stage, LIMITED, answer)
    const response = await post(gateway)
    assert.is(response.status, status)
    assert.is(remainingTokens(gateway), BUDGET, String(status))
    assert.is(response.headers['x-ratelimit-limit'], String(BUDGET))
  }
  const { gateway, backend } = await staged(stage, LIMITED, answers.fails(500))
  await backend.close()
  const response = await post(gateway)
  assert.is(response.status, 503)
  assert.match(response.headers['content-type']!, 'application/json')
  assert.is(remainingTokens(gateway), BUDGET)
})

ends('are charged once, even after a retry', async () => {
  const policies = `retry: { attempts: 2, codes: [500], backoff: 1ms }, ${tokens(BUDGET)}`
  let seen = 0
  let gateway: RunningGateway | null = null
  const look: LlmAnswer = (request, response) => {
    seen = remainingTokens(gateway!)
    answers.events(EVENTS)(request, response)
  }
  const made = await staged(stage, { policies }, answers.fails(500), answers.hangsUp(), look)
  gateway = made.gateway
  const response = await post(gateway, STREAMING)
  assert.is(response.status, 200)
  assert.not.match(response.text, '"usage"')
  assert.is(made.backend.requests.length, 3)
  assert.is(seen, BUDGET - ESTIMATE)
  assert.is(response.headers['x-ratelimit-remaining'], String(BUDGET - ESTIMATE))
  assert.is(remainingTokens(gateway), BUDGET - 42)
  made.backend.answer(answers.fails(500))
  assert.is((await post(gateway, STREAMING)).status, 500)
  assert.is(remainingTokens(gateway), BUDGET - 42)
})

ends('cost nothing when the body is truncated or not JSON', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, answers.json(chatOf(1, 1)))
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 30\r\n\r\n{"model":"m",`)
  await backend.requestHead(1)
  assert.ok(remainingTokens(gateway) < BUDGET)
  client.send('"x":}            ')
  assert.match(await client.until(/\}\}$/), ' 400 ')
  assert.is(remainingTokens(gateway), BUDGET)
  assert.is(backend.requests[0]!.state, 'coming')
  await backend.requests[0]!.whole()
  assert.is(backend.requests[0]!.state, 'gone')
})

const NEVER = answers.held(new Promise(() => {}), answers.json(''))

ends('cost nothing when the client closes the connection before the end of its body', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, NEVER)
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 2000\r\n\r\n{`)
  await (await backend.requestHead(1)).received(1)
  assert.is(remainingTokens(gateway), BUDGET - 500)
  client.destroy()
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.usage.estimated'], undefined)
  assert.is(remainingTokens(gateway), BUDGET)
})

ends('cost the prompt, with either framing', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, NEVER)
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`)
  await backend.requestHead(1)
  client.send(`${STREAMING.length.toString(16)}\r\n${STREAMING}\r\n0\r\n\r\n`)
  await backend.completeRequest(1)
  client.destroy()
  await gateway.logged(1)
  assert.is(remainingTokens(gateway), BUDGET - ESTIMATE)
  const other = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const request = other.request({ ':path': CHAT, ':method': 'POST' })
  request.stream.end(STREAMING)
  await backend.completeRequest(2)
  request.stream.close(8)
  await gateway.logged(2)
  assert.is(remainingTokens(gateway), BUDGET - 2 * ESTIMATE)
})

ends('cost all of a long prompt, though only a part was charged in advance', async () => {
  const stream = new LlmStream()
  const { gateway } = await staged(stage, { policies: tokens(1_000_000) }, stream.answer)
  const body = chatAsking({ stream: true, x: 'word '.repeat(60_000) })
  const client = await ask(gateway, body)
  await stream.opened()
  await client.until(/\r\n\r\n/)
  assert.ok(remainingTokens(gateway) > 1_000_000 - 33_000)
  client.destroy()
  await gateway.logged(1)
  assert.is(remainingTokens(gateway), 1_000_000 - estimateOf(body))
})

ends('cost the prompt when the response cannot be read', async () => {
  const answer = answers.json('x'.repeat(40), { 'content-type': 'application/octet-stream' })
  const { gateway } = await staged(stage, LIMITED, answer)
  const body = JSON.stringify({ messages: [{ text: 'x'.repeat(400) }] })
  await post(gateway, body, { path: '/model/m/converse-stream' })
  assert.ok(remainingTokens(gateway) <= BUDGET - estimateOf(body))
})

ends('settle the same over HTTP/2', async () => {
  const stream = new LlmStream()
  const { gateway } = await staged(stage, LIMITED, answers.events(EVENTS), stream.answer)
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const first = client.request({ ':path': CHAT, ':method': 'POST' })
  first.stream.end(STREAMING)
  assert.is(await first.closed(), 0)
  assert.match(first.body, '[DONE]')
  assert.not.match(first.body, '"usage"')
  assert.is(first.head['x-ratelimit-limit'], String(BUDGET))
  assert.is(remainingTokens(gateway), BUDGET - 42)
  const second = client.request({ ':path': CHAT, ':method': 'POST' })
  second.stream.end(STREAMING)
  await stream.opened()
  await stream.send(EVENTS[0]!)
  await second.until(() => second.body.includes('It'))
  second.stream.close(8)
  await stream.left()
  const line = (await gateway.logged(2))[1]!
  assert.is(line['outcome'], 'client_closed')
  assert.is(remainingTokens(gateway), BUDGET - 42 - ESTIMATE - 1)
})

ends('refuse over HTTP/2 as over HTTP/1', async () => {
  const { gateway } = await staged(stage, { policies: tokens(1) }, answers.json(chatOf(1, 1)))
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  for (const status of [200, 429]) {
    const request = client.request({ ':path': CHAT, ':method': 'POST' })
    request.stream.end(STREAMING)
    await request.closed()
    assert.is(request.status, status)
  }
})

ends('cost nothing for a response without a body', async () => {
  const { gateway } = await staged(stage, LIMITED, (_request, response) =>
    response.writeHead(204).end(),
  )
  assert.is((await post(gateway)).status, 204)
  assert.is(remainingTokens(gateway), BUDGET)
})

ends('cost the prompt after requestTimeout', async () => {
  const never = answers.held(new Promise(() => {}), answers.json(''))
  const policies = `timeout: { requestTimeout: 50ms }, ${tokens(BUDGET)}`
  const { gateway } = await staged(stage, { policies }, never)
  const response = await post(gateway, STREAMING)
  assert.is(response.status, 504)
  assert.match(response.text, '"error"')
  assert.is(remainingTokens(gateway), BUDGET - ESTIMATE)
})

ends('cost the prompt after backendRequestTimeout', async () => {
  const policies = `timeout: { backendRequestTimeout: 50ms }, ${tokens(BUDGET)}`
  const { gateway } = await staged(stage, { policies }, NEVER)
  assert.is((await post(gateway, STREAMING)).status, 504)
  const [line] = await gateway.logged(1)
  assert.is(line!['gen_ai.usage.estimated'], ESTIMATE)
  assert.is(remainingTokens(gateway), BUDGET - ESTIMATE)
})

ends('are logged as missing for a stream without a last event', async () => {
  const { gateway } = await staged(
    stage,
    LIMITED,
    answers.events(EVENTS.slice(0, -1)),
    answers.events(EVENTS),
  )
  await post(gateway, STREAMING)
  await post(gateway, STREAMING)
  const lines = await gateway.logged(2)
  assert.equal(
    lines.map((line) => [line['gen_ai.response.ending'], line['outcome']]),
    [
      ['missing', 'complete'],
      [undefined, 'complete'],
    ],
  )
  // A reported count is not an estimate, whatever follows it.
  assert.equal(
    lines.map((line) => [line['gen_ai.usage.output_tokens'], line['gen_ai.usage.estimated']]),
    [
      [12, undefined],
      [12, undefined],
    ],
  )
})

ends('release all bytes of the shared buffer', async () => {
  const text = `config: { llm: { maxHeldTogether: 65536 } }\n`
  const backend = (await staged(stage, LIMITED, answers.json(chatOf(1, 1)))).backend
  const gateway = await stage.gateway(text + aiRoute(backend, LIMITED))
  const body = chatAsking({ x: 'x'.repeat(40_000) })
  for (let times = 6; times > 0; times--) assert.is((await post(gateway, body)).status, 200)
})

ends.run()
