// The metrics of a running gateway, as a scraper reads them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatMetrics } from '../../lib/admin/prometheus-text.ts'
import { MAX_ROUTE_SERIES } from '../../lib/settle/request-metrics.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { routeTo, Stage } from '../support/gateway.ts'
import { begin, server } from '../forward/mcp/mcp-client.ts'
import { ask } from '../support/ask.ts'
import { Backend } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { answers, chatOf } from '../support/llm-backend.ts'
import { post, staged } from '../support/llm/asking.ts'
import { bytesOf } from '../support/llm/fixture.ts'
import { promtoolComplaints, readMetrics, valueOf } from '../support/prometheus.ts'
import { Reloading } from '../support/reloading.ts'
import { CERT, KEY } from '../support/tls-pair.ts'

const test = suite('admin/metric sources')
const stage = new Stage()
test.after.each(() => stage.clear())

function valueIn(gateway: RunningGateway, name: string, labels: Record<string, string> = {}) {
  return valueOf(readMetrics(formatMetrics(gateway.measures)), `gateway_${name}`, labels)
}

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'

test('requests, bytes and connections of plain traffic', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: ANSWER }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend))
  for (let at = 0; at < 3; at++) await ask(gateway, 'GET /?q=planted HTTP/1.1')
  await gateway.logged(3)
  const route = 'gateway/default/default/all'
  assert.is(valueIn(gateway, 'requests_total', { route, status: '200', method: 'GET' }), 3)
  assert.is(valueIn(gateway, 'response_bytes_total', { route }), 15)
  assert.is(valueIn(gateway, 'upstream_call_duration_seconds_count', { route }), 3)
  assert.is(valueIn(gateway, 'downstream_connections_total'), 3)
  assert.is(valueIn(gateway, 'refused_total', { limit: 'maxConnections' }), 0)
  assert.is(valueIn(gateway, 'upstream_connections', { state: 'idle' }), 1)
  const text = formatMetrics(gateway.measures)
  assert.not.match(text, 'planted')
  assert.is(promtoolComplaints(text), '')
})

test('connections to backends while they are open, and the time to connect', async () => {
  const plain = await stage.backend([{ wait: /\r\n\r\n/ }, { send: ANSWER }, { again: true }])
  const tls = { cert: CERT, key: KEY }
  const secure = stage.add(
    await Backend.startAt({ tls }, [{ wait: /\r\n\r\n/ }, { send: ANSWER }, { again: true }]),
  )
  const closed = await stage.backend([])
  const closedPort = closed.port
  await closed.close()
  const route = (path: string, port: number, policies: string): string =>
    `{ matches: [{ path: { exact: ${path} } }], backends: [{ host: 127.0.0.1:${port} }], policies: { ${policies} } }`
  const gateway = await stage.gateway(
    `routes: [${[
      route('/plain', plain.port, ''),
      route('/secure', secure.port, 'backendTLS: { insecure: true }'),
      route('/closed', closedPort, ''),
    ].join()}]\n`,
  )
  const connectsOf = (transport: string): unknown =>
    valueIn(gateway, 'upstream_connect_duration_seconds_count', { transport })
  assert.equal([connectsOf('plaintext'), connectsOf('tls')], [undefined, undefined])
  for (const path of ['/plain', '/plain', '/secure', '/secure', '/secure', '/closed'])
    await ask(gateway, `GET ${path} HTTP/1.1`)
  assert.equal([connectsOf('plaintext'), connectsOf('tls')], [1, 1])
  const seconds = valueIn(gateway, 'upstream_connect_duration_seconds_sum', { transport: 'tls' })
  assert.ok(seconds !== undefined && seconds > 0)
})

test('policy resources, by state', async () => {
  const resource = (name: string, target: string, limit: string): string => `---
apiVersion: a/v1alpha1
kind: GatewayPolicy
metadata: { name: ${name} }
spec: { targetRefs: [{ kind: HTTPRoute, name: ${target} }], traffic: { rateLimit: { local: [${limit}] } } }
`
  const limit = '{ requests: 9, unit: Hours }'
  const gateway = await stage.gateway(
    `routes: [{ name: only, policies: { directResponse: { status: 204 } } }]
${resource('a', 'only', limit)}${resource('b', 'onyl', limit)}${resource('c', 'only', '{ requests: 9 }')}`,
  )
  const countOf = (state: string): unknown => valueIn(gateway, 'policies', { state })
  assert.equal([countOf('attached'), countOf('not_attached'), countOf('refused')], [1, 1, 1])
})

test('the operation of LLM requests, by their path', async () => {
  const embeddings = answers.json(bytesOf('embeddings.json').toString())
  const { gateway } = await staged(stage, {}, answers.json(chatOf(3, 3)), embeddings)
  await post(gateway)
  await post(gateway, '{"model":"m","input":"hi"}', { path: '/v1/embeddings' })
  await gateway.logged(2)
  for (const operation of ['chat', 'embeddings']) {
    const labels = { gen_ai_operation_name: operation, gen_ai_provider_name: 'p' }
    assert.is(valueIn(gateway, 'gen_ai_server_request_duration_count', labels), 1)
    const input = { ...labels, gen_ai_token_type: 'input' }
    assert.is(valueIn(gateway, 'gen_ai_client_token_usage_count', input), 1)
  }
})

test('routes that a reload renamed are replaced by the new ones', async () => {
  const names = (prefix: string): string[] =>
    Array.from({ length: MAX_ROUTE_SERIES }, (_, at) => `${prefix}${at}`)
  const routes = (all: readonly string[]): string =>
    `routes: [${all
      .map(
        (name) =>
          `{ name: ${name}, matches: [{ path: { exact: /${name} } }], policies: { directResponse: { status: 204 } } }`,
      )
      .join()}]\n`
  const old = names('old')
  const gateway = stage.add(await Reloading.start(routes(old)))
  const client = await stage.client({ port: gateway.port, host: '127.0.0.1' })
  client.send(old.map((name) => `GET /${name} HTTP/1.1\r\nhost: a\r\n\r\n`).join(''))
  await gateway.logged('request', MAX_ROUTE_SERIES)
  await gateway.change(routes(['fresh']))
  await ask(gateway, 'GET /fresh HTTP/1.1')
  await gateway.logged('request', MAX_ROUTE_SERIES + 1)
  const samples = readMetrics(formatMetrics(gateway.gateway.metricFamilies))
  const count = (name: string): unknown =>
    valueOf(samples, 'gateway_requests_total', { route: `gateway/default/default/${name}` })
  assert.equal([count('fresh'), count('old0'), count('old1')], [1, undefined, 1])
  assert.is(valueOf(samples, 'gateway_requests_total', { route: 'other' }), 1)
})

test('connections of a port that is closed', async () => {
  const direct = 'routes: [{ policies: { directResponse: { status: 204 } } }]\n'
  const gateway = stage.add(await Reloading.start(direct))
  const count = (): unknown =>
    valueOf(
      readMetrics(formatMetrics(gateway.gateway.metricFamilies)),
      'gateway_downstream_connections_total',
    )
  await ask(gateway, 'GET / HTTP/1.1')
  await deadline(gateway.gateway.stop(), 20_000, 'the gateway to stop')
  assert.is(count(), 1)
})

test('a missing response adds no bytes of the one before it', async () => {
  const backend = await stage.backend([
    { wait: /\r\n\r\n/ },
    { send: ANSWER },
    { wait: /\r\n\r\n/ },
    { wait: /never/ },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('GET /one HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/hello/)
  client.send('GET /two HTTP/1.1\r\nhost: a\r\n\r\n')
  await backend.until((received) => received.includes('/two'))
  client.destroy()
  await gateway.logged(2)
  assert.is(valueIn(gateway, 'response_bytes_total'), 5)
})

test('decisions of rate limits', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: ANSWER }, { again: true }])
  const limit = 'localRateLimit: [{ maxTokens: 2, tokensPerFill: 2, fillInterval: 1h }]'
  const gateway = await stage.gateway(routeTo(backend, limit))
  for (let at = 0; at < 5; at++) await ask(gateway, 'GET / HTTP/1.1')
  assert.is(valueIn(gateway, 'rate_limit_decisions_total', { decision: 'allow' }), 2)
  assert.is(valueIn(gateway, 'rate_limit_decisions_total', { decision: 'deny' }), 3)
  assert.is(valueIn(gateway, 'requests_total', { status: '429' }), 3)
  assert.is(valueIn(gateway, 'rate_limit_buckets'), 1)
})

test('buckets of keys, and those that were evicted while in use', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: ANSWER }, { again: true }])
  const limit = `rateLimit: { local: [{ requests: 1, unit: Hours, key: 'request.headers["x-user"]' }] }`
  const gateway = await stage.gateway(
    'config: { rateLimit: { maxKeys: 2 } }\n' + routeTo(backend, limit),
  )
  const statusFor = async (user: string): Promise<number> =>
    (await ask(gateway, 'GET / HTTP/1.1', `x-user: ${user}`)).status
  for (const user of ['a', 'b']) assert.is(await statusFor(user), 200)
  assert.is(await statusFor('a'), 429)
  assert.is(valueIn(gateway, 'rate_limit_buckets_forgotten_total'), 0)
  // The third key replaces b, which was used longest ago.
  for (const user of ['c', 'b']) assert.is(await statusFor(user), 200)
  assert.is(valueIn(gateway, 'rate_limit_buckets'), 3)
  assert.is(valueIn(gateway, 'rate_limit_buckets_forgotten_total'), 2)
})

test('a retry of the retry policy', async () => {
  const bad = 'HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n'
  const backend = await stage.backend([
    { wait: /\r\n\r\n/ },
    { send: bad },
    { wait: /\r\n\r\n/ },
    { send: ANSWER },
  ])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 2, codes: [503] }'))
  assert.is((await ask(gateway, 'GET / HTTP/1.1')).status, 200)
  await gateway.logged(1)
  assert.is(valueIn(gateway, 'retries_total'), 1)
})

test('event streams, sessions and children while they are open', async () => {
  const [gateway, client] = await begin(stage, { targets: [server('one')] })
  assert.is(valueIn(gateway, 'mcp_sessions'), 1)
  assert.is(valueIn(gateway, 'mcp_children'), 1)
  const stream = await client.listen()
  await stream.raw.until(/text\/event-stream/)
  assert.is(valueIn(gateway, 'open_streams'), 1)
  assert.is(valueIn(gateway, 'open_requests', { phase: 'relay' }), 1)
  assert.is(valueIn(gateway, 'mcp_requests_total', { method: 'initialize' }), 1)
})

test.run()
