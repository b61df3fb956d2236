// Metrics of settled exchanges, and their bounds: no client can make them grow without limit.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatMetrics } from '../../lib/admin/prometheus-text.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { Exchange } from '../../lib/core/exchange.ts'
import { LatencyWindow } from '../../lib/core/traffic-totals.ts'
import { MAX_MODEL_SERIES } from '../../lib/settle/llm-metrics.ts'
import {
  MAX_ROUTE_SERIES,
  MAX_REQUEST_SERIES,
  RequestMetrics,
} from '../../lib/settle/request-metrics.ts'
import { MAX_USER_SERIES } from '../../lib/settle/user-metrics.ts'
import { exchangeOf, requestOf, withFields } from '../support/exchange-of.ts'
import type { ExchangeFields } from '../support/exchange-of.ts'
import { readMetrics, valueOf } from '../support/prometheus.ts'
import type { Sample } from '../support/prometheus.ts'

const counting = suite('settle/metrics')

function settled(fields: ExchangeFields, line = 'GET / HTTP/1.1'): Exchange {
  const exchange = exchangeOf(requestOf(line, 'host: a'))
  const usual = { listenerKey: 'gateway/default', routeKey: 'r', endpoint: 'b:1', status: 200 }
  return withFields(exchange, { ...usual, ...fields })
}

function samplesOf(metrics: RequestMetrics): Sample[] {
  return readMetrics(formatMetrics(metrics.collect()))
}

counting('requests by route, backend, method, status and reason', () => {
  const metrics = new RequestMetrics()
  metrics.count(settled({}))
  metrics.count(settled({}))
  metrics.count(settled({ status: 404 }))
  metrics.count(settled({ routeKey: '', endpoint: '', status: 404 }, 'POST / HTTP/1.1'))
  const error = new GatewayError('BACKEND_CONNECT', 'refused')
  metrics.count(settled({ status: 503, error, outcome: 'backend_reset' }))
  metrics.count(settled({ status: 0, outcome: 'client_closed' }))
  const count = (labels: Record<string, string>) =>
    valueOf(samplesOf(metrics), 'gateway_requests_total', labels)
  assert.is(count({ route: 'r', backend: 'b:1', method: 'GET', status: '200' }), 2)
  assert.is(count({ route: 'r', status: '404', reason: 'complete', protocol: 'http' }), 1)
  assert.is(count({ route: 'unknown', backend: 'unknown', method: 'POST' }), 1)
  assert.is(count({ status: '503', reason: 'backend_connect' }), 1)
  assert.is(count({ status: 'unknown', reason: 'client_closed' }), 1)
})

counting('times: the total, before the backend call, and until its response', () => {
  const metrics = new RequestMetrics()
  const now = performance.now()
  const times = { startedAt: now - 30, calledAt: now - 20, receivedAt: now - 5 }
  metrics.count(settled(times as ExchangeFields))
  metrics.count(settled({ calledAt: 0, receivedAt: now }))
  const samples = samplesOf(metrics)
  const sum = (name: string) => valueOf(samples, `gateway_${name}_sum`, { route: 'r' }) ?? 0
  assert.ok(sum('request_duration_seconds') >= 0.03)
  assert.is(Math.round(sum('request_processing_seconds') * 1000), 10)
  assert.is(Math.round(sum('upstream_call_duration_seconds') * 1000), 15)
  assert.is(valueOf(samples, 'gateway_upstream_call_duration_seconds_count'), 1)
})

counting('bytes of responses, and retries', () => {
  const metrics = new RequestMetrics()
  const client = { ...settled({}).client, bytesWritten: 1000 }
  metrics.count(settled({ client, retries: 2 }))
  metrics.count(settled({ client }))
  assert.is(valueOf(samplesOf(metrics), 'gateway_response_bytes_total'), 2000)
  assert.is(valueOf(samplesOf(metrics), 'gateway_retries_total'), 2)
})

counting('MCP messages by method and server; an unknown method is other', () => {
  const metrics = new RequestMetrics()
  const tool = { target: 'files', name: 'read' }
  metrics.count(settled({ facts: { mcp: { methodName: 'tools/call', tool } } }))
  metrics.count(settled({ facts: { mcp: { methodName: 'tools/list' } } }))
  metrics.count(settled({ facts: { mcp: { methodName: 'evil/1' } } }))
  metrics.count(settled({ facts: { mcp: { methodName: 'evil/2' } } }))
  const samples = samplesOf(metrics)
  const count = (labels: Record<string, string>) =>
    valueOf(samples, 'gateway_mcp_requests_total', labels)
  assert.is(count({ method: 'tools/call', server: 'files' }), 1)
  assert.is(count({ method: 'tools/list', server: 'unknown' }), 1)
  assert.is(count({ method: 'other' }), 2)
  assert.is(valueOf(samples, 'gateway_requests_total', { protocol: 'mcp' }), 4)
})

counting('requests and tokens by user, of a bounded number of users', () => {
  const metrics = new RequestMetrics()
  const llm = { inputTokens: 5, outputTokens: 2 }
  const keyOf = (fields: object) => ({ apiKey: new Map(Object.entries(fields)) })
  metrics.count(settled({ facts: { jwt: new Map([['sub', 'ann']]), llm } }))
  metrics.count(settled({ facts: { ...keyOf({ user_id: 'alice', name: 'first key' }), llm } }))
  metrics.count(settled({ facts: keyOf({ user_id: 'alice' }) }))
  metrics.count(settled({ facts: keyOf({ name: 'second key' }) }))
  metrics.count(settled({ facts: { basicAuth: { username: 'bob' } } }))
  metrics.count(settled({ facts: keyOf({}) }))
  const count = (labels: Record<string, string>) =>
    valueOf(samplesOf(metrics), 'gateway_user_requests_total', labels)
  assert.is(count({ identity: 'jwt', user: 'ann' }), 1)
  assert.is(count({ identity: 'apiKey', user: 'alice' }), 2)
  assert.is(count({ identity: 'apiKey', user: 'second key' }), 1)
  assert.is(count({ identity: 'basicAuth', user: 'bob' }), 1)
  const tokens = { user: 'alice', gen_ai_token_type: 'input' }
  assert.is(valueOf(samplesOf(metrics), 'gateway_user_tokens_total', tokens), 5)
  for (let i = 0; i < MAX_USER_SERIES; i++)
    metrics.count(settled({ facts: keyOf({ user_id: `user ${i}` }) }))
  assert.is(count({ identity: 'other', user: 'other' }), 4)
})

counting('tokens and times of LLM requests, by provider and model', () => {
  const metrics = new RequestMetrics()
  const llm = {
    operation: 'chat',
    provider: 'openai',
    requestModel: 'small',
    responseModel: 'small-2026',
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 60,
    timeToFirstToken: '0.250000s',
    timePerOutputToken: '0.010000s',
  }
  metrics.count(settled({ facts: { llm } }))
  metrics.count(settled({ facts: { llm: { provider: 'openai' } } }))
  const samples = samplesOf(metrics)
  const of = (name: string, labels: Record<string, string>) =>
    valueOf(samples, `gateway_gen_ai_${name}`, { gen_ai_request_model: 'small', ...labels })
  const tokens = (type: string) => of('client_token_usage_sum', { gen_ai_token_type: type })
  assert.equal(['input', 'output', 'input_cache_read'].map(tokens), [100, 20, 60])
  const chat = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai' }
  assert.is(of('server_time_to_first_token_sum', chat), 0.25)
  assert.is(of('server_time_per_output_token_sum', {}), 0.01)
  const unknown = { gen_ai_operation_name: 'unknown', gen_ai_request_model: 'unknown' }
  assert.is(valueOf(samples, 'gateway_gen_ai_server_request_duration_count', unknown), 1)
})

counting('values that were never measured are left out, and families without series too', () => {
  const metrics = new RequestMetrics()
  metrics.count(settled({ facts: { llm: { requestModel: 'a', inputTokens: 1 } } }))
  metrics.count(settled({ facts: { llm: { requestModel: 'b' } } }))
  const text = formatMetrics(metrics.collect())
  const counts = readMetrics(text).filter(({ name }) => name.endsWith('token_usage_count'))
  assert.equal(
    counts.map(({ labels }) => [labels['gen_ai_request_model'], labels['gen_ai_token_type']]),
    [['a', 'input']],
  )
  assert.not.match(text, 'time_to_first_token')
  assert.not.match(text, 'upstream_call_duration_seconds')
})

counting('a client that requests ever new models fills a bounded table, with clipped names', () => {
  const metrics = new RequestMetrics()
  for (let at = 0; at < MAX_MODEL_SERIES + 50; at++)
    metrics.count(settled({ facts: { llm: { requestModel: `${at}${'x'.repeat(500)}` } } }))
  const counts = samplesOf(metrics).filter(
    ({ name }) => name === 'gateway_gen_ai_server_request_duration_count',
  )
  assert.is(counts.length, MAX_MODEL_SERIES + 1)
  const others = counts.find(({ labels }) => labels['gen_ai_request_model'] === 'other')
  assert.is(others?.value, 50)
  for (const { labels } of counts) assert.ok(labels['gen_ai_request_model']!.length <= 64)
})

counting('statuses, methods and backends without end fill a bounded table', () => {
  const metrics = new RequestMetrics()
  for (let at = 0; at < MAX_REQUEST_SERIES + 500; at++)
    metrics.count(
      settled({ status: 200 + (at % 300), endpoint: `b:${at}`, routeKey: `r${at % 7}` }),
    )
  for (const method of ['PROPFIND', 'SEARCH', 'LINK'])
    metrics.count(settled({ endpoint: 'b:1' }, `${method} / HTTP/1.1`))
  const rows = samplesOf(metrics).filter(({ name }) => name === 'gateway_requests_total')
  assert.is(rows.length, MAX_REQUEST_SERIES + 1)
  assert.is(
    rows.reduce((sum, { value }) => sum + value, 0),
    MAX_REQUEST_SERIES + 503,
  )
})

counting('sums of everything, and of each route: errors, refusals, tokens, times', () => {
  const metrics = new RequestMetrics()
  metrics.count(settled({}))
  metrics.count(settled({ status: 503, outcome: 'backend_reset' }))
  metrics.count(settled({ status: 200, outcome: 'backend_reset' }))
  metrics.count(settled({ status: 0, outcome: 'shutdown' }))
  metrics.count(settled({ status: 429, routeKey: 'other' }))
  metrics.count(settled({ status: 400, outcome: 'client_error', routeKey: '' }))
  // A closed client connection is no error.
  metrics.count(settled({ status: 200, outcome: 'client_closed' }))
  metrics.count(settled({ status: 0, outcome: 'client_closed' }))
  const { requests, errors, refused } = metrics.totals
  assert.equal([requests, errors, refused], [8, 3, 2])
  const traffic = (key: string) => {
    const { requests: all, errors: bad, refused: no } = metrics.countsByRoute.get(key)!
    return [all, bad, no]
  }
  assert.equal(traffic('r'), [6, 3, 0])
  assert.equal(traffic('other'), [1, 0, 1])
  assert.equal(traffic('gateway/default'), [1, 0, 1])
})

counting('times to the first byte of a response, however long the rest takes', () => {
  const metrics = new RequestMetrics()
  const latest = new LatencyWindow(metrics.totals.firstBytes)
  const now = performance.now()
  const hour = {
    startedAt: now - 3_600_000,
    calledAt: now - 3_600_000,
    receivedAt: now - 3_599_990,
  }
  metrics.count(settled(hour as ExchangeFields))
  latest.advance()
  const time = latest.quantile(0.99)!
  assert.ok(time > 8 && time < 12, String(time))
  // A request without a response counts with its total time.
  metrics.count(settled({ ...hour, receivedAt: 0, status: 0 } as ExchangeFields))
  latest.advance()
  assert.ok(latest.quantile(0.99)! > 200_000)
})

counting('no request of the web UI in the totals', () => {
  const metrics = new RequestMetrics()
  metrics.count(settled({ endpoint: 'ui', routeKey: 'gateway/default/ui' }))
  assert.is(metrics.totals.requests, 0)
  assert.ok(metrics.totals.firstBytes.counts.every((count) => count === 0))
  assert.is(metrics.countsByRoute.get('gateway/default/ui')!.requests, 1)
})

counting('invalid token counts of a provider leave finite totals', () => {
  const metrics = new RequestMetrics()
  const timeToFirstToken = '0.250000s'
  const llm = (inputTokens: number, outputTokens: number) =>
    metrics.count(settled({ facts: { llm: { inputTokens, outputTokens, timeToFirstToken } } }))
  llm(3, 4)
  llm(NaN, -7)
  const { tokensIn, tokensOut, firstTokens } = metrics.totals
  assert.equal([tokensIn, tokensOut], [3, 4])
  assert.is(
    firstTokens.counts.reduce((sum, count) => sum + count),
    2,
  )
})

/** Requests by route, and over all. */
function requestsIn(metrics: RequestMetrics): { routes: Map<string, number>; all: number } {
  const rows = samplesOf(metrics).filter(({ name }) => name === 'gateway_requests_total')
  const routes = new Map<string, number>()
  for (const { labels, value } of rows)
    routes.set(labels['route']!, (routes.get(labels['route']!) ?? 0) + value)
  return { routes, all: rows.reduce((sum, { value }) => sum + value, 0) }
}

function routesNamed(name: string, count = MAX_ROUTE_SERIES): string[] {
  return Array.from({ length: count }, (_, at) => `${name}${at}`)
}

counting('a configured route keeps its series, and routes over the bound count as other', () => {
  const metrics = new RequestMetrics()
  const routes = routesNamed('r')
  for (const route of routes) metrics.count(settled({ routeKey: route }))
  metrics.retain(new Set(routes))
  metrics.count(settled({ routeKey: 'late' }))
  const { routes: counted } = requestsIn(metrics)
  assert.is(counted.get('r0'), 1)
  assert.is(counted.get('other'), 1)
  assert.is(counted.size, MAX_ROUTE_SERIES + 1)
})

counting(
  'a removed route stays until another needs the space: the least recently used goes first',
  () => {
    const metrics = new RequestMetrics()
    const routes = routesNamed('r')
    for (const route of routes)
      metrics.count(settled({ routeKey: route, retries: 1, calledAt: 1, receivedAt: 2 }))
    // All but two are renamed; of the renamed ones, one still gets a request that began before.
    metrics.retain(new Set(['r0', 'r1', 'new0', 'new1']))
    assert.is(requestsIn(metrics).routes.size, MAX_ROUTE_SERIES)
    metrics.count(settled({ routeKey: 'r2' }))
    metrics.count(settled({ routeKey: 'new0' }))
    metrics.count(settled({ routeKey: 'new1' }))
    const { routes: counted, all } = requestsIn(metrics)
    const [r0, r2, r3, r4, r5] = ['r0', 'r2', 'r3', 'r4', 'r5'].map((name) => counted.get(name))
    assert.equal([r0, r2, r3, r4, r5], [1, 2, undefined, undefined, 1])
    assert.equal([counted.get('new0'), counted.get('new1'), counted.get('other')], [1, 1, 2])
    assert.is(all, MAX_ROUTE_SERIES + 3)
    const samples = samplesOf(metrics)
    const others = { route: 'other' }
    assert.is(valueOf(samples, 'gateway_request_duration_seconds_count', others), 2)
    assert.is(valueOf(samples, 'gateway_upstream_call_duration_seconds_count', others), 2)
    assert.is(valueOf(samples, 'gateway_retries_total', others), 2)
  },
)

counting('a route that is configured again before its eviction keeps its counts', () => {
  const metrics = new RequestMetrics()
  for (const route of routesNamed('r')) metrics.count(settled({ routeKey: route }))
  metrics.retain(new Set(['a']))
  metrics.retain(new Set(['r7']))
  metrics.count(settled({ routeKey: 'r7' }))
  metrics.count(settled({ routeKey: 'fresh' }))
  assert.is(requestsIn(metrics).routes.get('r7'), 2)
})

counting(
  'over many reloads the newest routes are counted, within the bounds, and no total decreases',
  () => {
    const metrics = new RequestMetrics()
    let [before, sent] = [0, 0]
    for (let reload = 0; reload < 12; reload++) {
      const routes = routesNamed(`r${reload}-`, 100)
      metrics.retain(new Set(routes))
      for (const route of routes)
        for (const status of [200, 404, 503]) {
          metrics.count(settled({ routeKey: route, status }))
          sent++
        }
      const { routes: counted, all } = requestsIn(metrics)
      for (const route of routes) assert.is(counted.get(route), 3)
      assert.ok(counted.size <= MAX_ROUTE_SERIES + 1)
      assert.ok(all >= before)
      before = all
    }
    assert.is(before, sent)
  },
)

counting('series of removed routes are evicted too', () => {
  const metrics = new RequestMetrics()
  for (let at = 0; at < MAX_REQUEST_SERIES; at++)
    metrics.count(settled({ status: 200 + (at % 500), routeKey: `r${Math.floor(at / 500)}` }))
  metrics.retain(new Set(['fresh']))
  metrics.count(settled({ routeKey: 'fresh' }))
  const { routes, all } = requestsIn(metrics)
  assert.is(routes.get('fresh'), 1)
  assert.is(routes.get('r0'), undefined)
  assert.is(routes.get('r1'), 500)
  assert.is(all, MAX_REQUEST_SERIES + 1)
})

counting.run()
