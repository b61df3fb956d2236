// The default time to the response head of HTTP backends: which requests it ends, and which it must not.

import type { ServerHttp2Stream } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage, routeTo } from '../support/gateway.ts'
import { answerOk, http2Backend } from '../support/http2-backend.ts'
import { until } from '../support/until.ts'

const headTimeout = suite('forward/head timeout')
const stage = new Stage()
headTimeout.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SHORT = 'config: { backend: { responseHeadTimeout: 100ms } }\n'
/** Longer than SHORT and its sweep. */
const LATE_MS = 400

headTimeout('answers 504 on a new connection and on a kept one', async () => {
  const backend = await stage.backend(
    [{ wait: HEAD }, { send: OK }, { wait: HEAD }, { hold: true }],
    [{ wait: HEAD }, { hold: true }],
  )
  const gateway = await stage.gateway(SHORT + routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(GET)
  await client.until(/504 Gateway Timeout\r\n[^]*\r\n\r\nupstream call timeout$/)
  // The request was not sent again.
  assert.is(backend.connections.length, 1)
  client.send(GET)
  await client.until(/(?:504 Gateway Timeout[^]*){2}upstream call timeout$/)
  assert.is(backend.connections.length, 2)
  const [, ...lines] = await gateway.logged(3)
  for (const line of lines)
    assert.equal([line['outcome'], line['reason']], ['backend_timeout', 'BACKEND_TIMEOUT'])
})

headTimeout('answers 504 over HTTP/2, with and without a request body', async () => {
  const { port } = await http2Backend(stage, (stream) => void stream.resume())
  const gateway = await stage.gateway(SHORT + routeTo({ port }, 'backendTLS: { insecure: true }'))
  for (const request of [GET, 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody']) {
    const client = await stage.client(gateway)
    client.send(request)
    await client.until(/504 Gateway Timeout\r\n[^]*\r\n\r\nupstream call timeout$/)
  }
})

headTimeout('starts when the request is complete', async () => {
  const backend = await stage.backend([{ wait: /last/ }, { send: OK }])
  const h2 = await http2Backend(stage, (stream, headers) => {
    stream.resume().on('end', () => answerOk(stream, headers))
  })
  for (const route of [routeTo(backend), routeTo(h2, 'backendTLS: { insecure: true }')]) {
    const gateway = await stage.gateway(SHORT + route)
    const client = await stage.client(gateway)
    client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nfirst')
    await pass(LATE_MS)
    client.send('last')
    await client.until(/ok$/)
  }
})

headTimeout('does not end a response whose body comes late', async () => {
  const begin = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 4\r\n\r\n'
  const backend = await stage.backend([
    { wait: HEAD },
    { send: `${begin}a` },
    { sleep: LATE_MS },
    { send: 'bcd' },
  ])
  const h2 = await http2Backend(stage, (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200, 'content-length': '4' })
    stream.write('a')
    setTimeout(() => stream.end('bcd'), LATE_MS)
  })
  for (const route of [routeTo(backend), routeTo(h2, 'backendTLS: { insecure: true }')]) {
    const gateway = await stage.gateway(SHORT + route)
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/abcd$/)
  }
})

const LATE = [{ wait: HEAD }, { sleep: LATE_MS }, { send: OK }]

for (const [name, config, policies] of [
  ['a timeout of the route for each attempt', SHORT, 'timeout: { backendRequestTimeout: 20s }'],
  ['a timeout of the route', SHORT, 'timeout: { requestTimeout: 20s }'],
  ['0s', 'config: { backend: { responseHeadTimeout: 0s } }\n', ''],
] as const)
  headTimeout(`is replaced by ${name}`, async () => {
    const gateway = await stage.gateway(config + routeTo(await stage.backend(LATE), policies))
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/ok$/)
  })

headTimeout('is replaced by that of the backend', async () => {
  const { port } = await stage.backend(LATE)
  const backend = (time: string): string =>
    `backends: [{ host: 127.0.0.1:${port}, policies: { http: { requestTimeout: ${time} } } }]`
  const gateway = await stage.gateway(
    `${SHORT}routes:\n  - { matches: [{ path: { exact: /slow } }], ${backend('20s')} }\n` +
      `  - { ${backend('50ms')}, policies: { timeout: { backendRequestTimeout: 20s } } }\n`,
  )
  const client = await stage.client(gateway)
  client.send('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/ok$/)
  client.send(GET)
  await client.until(/504 Gateway Timeout[^]*upstream call timeout$/)
})

// A completion that is not streamed has no head before its end.
headTimeout('does not end requests to LLM providers', async () => {
  const { port } = await stage.backend(LATE)
  const post =
    'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n' +
    'content-length: 28\r\n\r\n{"model":"m","messages":[ ]}'
  const provider = `{ name: p, provider: { openAI: {} }, hostOverride: "127.0.0.1:${port}" }`
  for (const route of [
    `routes: [{ backends: [{ ai: ${provider} }] }]\n`,
    routeTo({ port }, 'rateLimit: { local: [{ tokens: 9000, unit: Hours }] }'),
  ]) {
    const gateway = await stage.gateway(SHORT + route)
    const client = await stage.client(gateway)
    client.send(post)
    await client.until(/ok$/)
  }
})

async function pass(ms: number): Promise<void> {
  const end = performance.now() + ms
  await until('time to pass', () => performance.now() > end)
}

headTimeout.run()
