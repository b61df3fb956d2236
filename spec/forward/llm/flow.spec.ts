// The flow of bytes: long bodies, slow readers, early responses, and pipelined requests.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, chatEventsOf, chatOf, LlmStream } from '../../support/llm-backend.ts'
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

const flow = suite('flow of LLM traffic')
const stage = new Stage()
flow.after.each(() => stage.clear())

const LIMITED = { policies: tokens(10_000_000) }

flow('answers pipelined requests, each with its own counts', async () => {
  const { gateway, backend } = await staged(
    stage,
    LIMITED,
    answers.events(chatEventsOf(1, 2)),
    answers.json(chatOf(3, 4)),
    answers.events(chatEventsOf(5, 6)),
  )
  const client = await stage.client(gateway)
  const bodies = [chatAsking({ stream: true }), chatAsking(), chatAsking({ stream: true, n: 1 })]
  client.send(
    bodies
      .map(
        (body) =>
          `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      .join(''),
  )
  const lines = await gateway.logged(3)
  assert.equal(
    lines.map((line) => line['gen_ai.usage.output_tokens']),
    [2, 4, 6],
  )
  assert.is(remainingTokens(gateway), 10_000_000 - 21)
  await client.until((text) => text.split('[DONE]').length === 3)
  assert.is(client.text.split('HTTP/1.1 200 OK').length, 4)
  const asked = ',"stream_options":{"include_usage":true}}'
  assert.equal(
    backend.requests.map(({ text }) => text),
    [bodies[0]!.slice(0, -1) + asked, bodies[1]!, bodies[2]!.slice(0, -1) + asked],
  )
})

flow('forwards and edits a body of any length without keeping it', async () => {
  const { gateway, backend } = await staged(stage, LIMITED, answers.json(chatOf(1, 1)))
  const long = 'ä'.repeat(4_000_000)
  const body = `{"stream":true,"x":"${long}"}`
  assert.is((await post(gateway, body)).status, 200)
  assert.is(backend.requests[0]!.json['x'], long)
  assert.equal(backend.requests[0]!.json['stream_options'], { include_usage: true })
})

flow(
  'sends a slow reader all of a long stream except the usage chunk that it did not ask for',
  async () => {
    const [word = '', ...rest] = chatEventsOf(7, 7)
    const many = Array.from({ length: 200 }, () => word.repeat(100))
    const script = answers.events([...many, ...rest])
    const { gateway, backend } = await staged(stage, LIMITED, script)
    const client = await stage.client(gateway)
    client.socket.pause()
    const body = chatAsking({ stream: true })
    client.send(`POST ${CHAT} HTTP/1.0\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    await backend.completeRequest(1)
    client.socket.resume()
    const text = await client.untilClosed()
    const expected = [...many, ...rest].filter((event) => !event.includes('usage')).join('')
    assert.ok(text.endsWith(`\r\n\r\n${expected}`))
    assert.is(remainingTokens(gateway), 10_000_000 - 14)
  },
)

flow('forwards a response that arrives before the request is complete', async () => {
  const answer = 'HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\nconnection: close\r\n\r\nlong'
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: answer }, { close: true }])
  const gateway = await stage.gateway(aiRoute(backend, LIMITED))
  const client = await stage.client(gateway)
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: 900000\r\n\r\n{"model":"m",`)
  assert.match(await client.until(/long$/), ' 413 ')
  await gateway.logged(1)
  assert.is(remainingTokens(gateway), 10_000_000)
})

flow('charges more in advance as more of a request is known', async () => {
  const held = answers.held(new Promise(() => {}), answers.json(''))
  const { gateway, backend } = await staged(stage, { policies: tokens(1000) }, held)
  const client = await stage.client(gateway)
  const body = '{"model":"m","max_tokens":800}'
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`)
  await backend.requestHead(1)
  assert.is(remainingTokens(gateway), 1000 - estimateOf(body))
  client.send(body)
  await backend.completeRequest(1)
  assert.is(remainingTokens(gateway), 1000 - estimateOf(body) - 100)
  // The size of a body without a content-length is known at its end.
  const other = await stage.client(gateway)
  other.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`)
  await backend.requestHead(2)
  const before = remainingTokens(gateway)
  other.send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
  await backend.completeRequest(2)
  assert.is(before - remainingTokens(gateway), estimateOf(body) + 100)
})

flow('sends 100 Continue, whether the gateway or the provider reads the body first', async () => {
  const byModel = { policies: tokens(1000, 'key: llm.requestModel') }
  const { gateway, backend } = await staged(stage, byModel, answers.json(chatOf(3, 3)))
  const mock = await stage.gateway(
    `routes: [{ backends: [{ ai: { name: m, provider: { mock: {} } } }], policies: { ${tokens(99)} } }]`,
  )
  const plain = await stage.gateway(aiRoute(backend, LIMITED))
  const body = chatAsking()
  for (const one of [gateway, mock, plain]) {
    const client = await stage.client(one)
    client.send(
      `POST ${CHAT} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    await client.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/)
    client.send(body)
    assert.match(await client.until(/"usage"/), 'HTTP/1.1 200 OK')
    assert.is(client.text.split(' 100 ').length, 2)
  }
  const refused = await staged(stage, { policies: tokens(1) }, answers.json(chatOf(3, 3)))
  await post(refused.gateway)
  const client = await stage.client(refused.gateway)
  client.send(
    `POST ${CHAT} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  assert.match(await client.until(/rate limit exceeded$/), /^HTTP\/1.1 429 /)
})

flow('waits for the model only if a limit depends on it', async () => {
  const keyed = (key: string) => ({ policies: tokens(10_000_000, `key: ${key}`) })
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: a\r\nx-team: a\r\ncontent-length: 60\r\n\r\n`
  const byTeam = await staged(
    stage,
    keyed('\'request.headers["x-team"]\''),
    answers.json(chatOf(1, 1)),
  )
  const client = await stage.client(byTeam.gateway)
  client.send(`${head}{"messages":[]`)
  await (await byTeam.backend.requestHead(1)).received(14)
  const byModel = await staged(stage, keyed('llm.requestModel'), answers.json(chatOf(1, 1)))
  const other = await stage.client(byModel.gateway)
  other.send(`${head}{"messages":[]`)
  other.send(`,"model":"m"}`.padEnd(46))
  await byModel.backend.completeRequest(1)
  assert.is(byModel.backend.requests[0]!.text.trim(), '{"messages":[],"model":"m"}')
})

flow('forwards each event as soon as it arrives', async () => {
  const stream = new LlmStream()
  const { gateway } = await staged(stage, LIMITED, stream.answer)
  const client = await stage.client(gateway)
  const body = chatAsking({ stream: true })
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  await stream.opened()
  await client.until(/\r\n\r\n/)
  for (const event of chatEventsOf(1, 1).slice(0, 3)) {
    client.take(client.text.length)
    await stream.send(event)
    assert.match(await client.until(/\n\n\r\n$/), event)
  }
  stream.end()
})

flow.run()
