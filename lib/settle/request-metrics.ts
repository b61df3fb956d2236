// Request metrics, updated when an exchange is settled. An update costs a few lookups and sums, and allocates nothing
// once a series with the same route, status and backend exists.

import type { LlmFacts, McpFacts } from '../core/facts.ts'
import type { Exchange } from '../core/exchange.ts'
import { sanitizeTokenCount } from '../config/limit-status.ts'
import { Histogram, OTHER_LABEL, UNKNOWN_LABEL } from '../core/metric-families.ts'
import type { MetricFamily, MetricLabels, MetricSeries } from '../core/metric-families.ts'
import { RequestTotals } from '../core/traffic-totals.ts'
import type { RequestCounts } from '../core/traffic-totals.ts'
import { UI_ENDPOINT } from '../core/well-known-paths.ts'
import { LlmMetrics } from './llm-metrics.ts'
import { UserMetrics, usersOf } from './user-metrics.ts'

/**
 * Bounds of all request series and of routes. A route that is no longer configured keeps its series until another route
 * needs the space; series over the bound are counted under the label for others.
 */
export const MAX_REQUEST_SERIES = 5_000
export const MAX_ROUTE_SERIES = 1_000
const MAX_MCP_SERIES = 1_000

const DURATION_BOUNDS = [
  0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const
const PROTOCOLS = ['http', 'mcp', 'llm'] as const

/** Methods of the protocol; other names, which a client can invent, are counted together. */
const MCP_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/cancel',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
])

interface CounterRow {
  readonly labels: MetricLabels
  count: number
}

/** The counters of one route, or of one listener for requests that match no route. */
class RouteMetrics implements RequestCounts {
  readonly labels: MetricLabels
  /** By endpoint, then by the number that `#seriesCodeOf` computes. */
  readonly rows = new Map<string, Map<number, CounterRow>>()
  readonly duration = new Histogram(DURATION_BOUNDS)
  readonly processing = new Histogram(DURATION_BOUNDS)
  readonly backend = new Histogram(DURATION_BOUNDS)
  requests = 0
  errors = 0
  refused = 0
  bytes = 0
  retries = 0
  /** Time of the last counted request. */
  lastUsedAt = 0

  constructor(listener: string, route: string) {
    this.labels = { listener: listener || UNKNOWN_LABEL, route: route || UNKNOWN_LABEL }
  }

  get allRows(): CounterRow[] {
    return [...this.rows.values()].flatMap((rows) => [...rows.values()])
  }
}

/** Bound of distinct end reasons; there are fewer error codes, refusal reasons and outcomes. */
const MAX_REASONS = 128

export class RequestMetrics {
  readonly totals = new RequestTotals()
  /** By route key; by listener key for requests that match no route. */
  readonly #routes = new Map<string, RouteMetrics>()
  readonly #others = new RouteMetrics(OTHER_LABEL, OTHER_LABEL)
  /** Keys of routes and listeners that are no longer configured. */
  #unconfigured = new Set<string>()
  readonly #reasons = new Map<string, number>()
  readonly #mcp = new Map<string, CounterRow>()
  readonly #mcpOthers: CounterRow = {
    labels: { method: OTHER_LABEL, server: OTHER_LABEL },
    count: 0,
  }
  readonly #llm = new LlmMetrics()
  readonly #users = new UserMetrics()
  #seriesCount = 0

  /** `now` is a time of `performance.now()`. */
  count(exchange: Exchange, now = performance.now(), users = usersOf(exchange.facts)): void {
    const {
      facts,
      startedAt,
      forwarding: { calledAt },
      response: { receivedAt },
    } = exchange
    const metrics = this.#routeFor(exchange)
    metrics.lastUsedAt = now
    this.#rowFor(exchange, metrics).count++
    metrics.duration.add((now - startedAt) / 1000)
    this.#countTotals(exchange, now)
    countOutcome(metrics, exchange)
    if (calledAt > 0) {
      metrics.processing.add((calledAt - startedAt) / 1000)
      if (receivedAt > 0) metrics.backend.add((receivedAt - calledAt) / 1000)
    }
    metrics.bytes += exchange.client.bytesWritten
    metrics.retries += exchange.forwarding.retries
    if (facts === null) return
    this.#users.count(users, facts.llm)
    if (facts.mcp?.methodName !== undefined) this.#countMcp(facts.mcp.methodName, facts.mcp)
    if (facts.llm === undefined) return
    this.#llm.count(facts.llm, (now - startedAt) / 1000)
    this.#countTokens(facts.llm)
  }

  /** By route key; by listener key for requests that match no route. */
  get countsByRoute(): ReadonlyMap<string, Readonly<RequestCounts>> {
    return this.#routes
  }

  /** `keys` are the keys of all configured routes and listeners. */
  retain(keys: ReadonlySet<string>): void {
    this.#unconfigured = new Set(
      [...this.#routes.keys()].filter((key) => key !== '' && !keys.has(key)),
    )
  }

  collect(): MetricFamily[] {
    const perRoute = (pick: (route: RouteMetrics) => number | Histogram): Iterable<MetricSeries> =>
      iterateLazily(() => this.#routeSeries(pick))
    return [
      {
        name: 'requests_total',
        kind: 'counter',
        help: 'Requests, counted when the exchange ends',
        series: iterateLazily(() => this.#requestSeries()),
      },
      {
        name: 'request_duration_seconds',
        kind: 'histogram',
        help: 'Seconds from the request head to the end of the response',
        series: perRoute(({ duration }) => duration),
      },
      {
        name: 'request_processing_seconds',
        kind: 'histogram',
        help: 'Seconds from the request head to the call of the backend',
        series: perRoute(({ processing }) => processing),
      },
      {
        name: 'upstream_call_duration_seconds',
        kind: 'histogram',
        help: 'Seconds from the call of the backend to its response head, retries included',
        series: perRoute(({ backend }) => backend),
      },
      {
        name: 'response_bytes_total',
        kind: 'counter',
        help: 'Bytes of response bodies on the wire, chunk framing included',
        series: perRoute(({ bytes }) => bytes),
      },
      {
        name: 'retries_total',
        kind: 'counter',
        help: 'Retries',
        series: perRoute(({ retries }) => retries),
      },
      {
        name: 'mcp_requests_total',
        kind: 'counter',
        help: 'Messages from MCP clients',
        series: [...this.#mcp.values(), this.#mcpOthers]
          .filter(({ count }) => count > 0)
          .map(({ labels, count }) => [labels, count]),
      },
      ...this.#llm.collect(),
      ...this.#users.collect(),
    ]
  }

  /** Requests of the web UI itself are not counted. */
  #countTotals(exchange: Exchange, now: number): void {
    const {
      startedAt,
      response: { receivedAt },
      forwarding: { endpoint },
    } = exchange
    if (endpoint === UI_ENDPOINT) return
    this.totals.firstBytes.add((receivedAt || now) - startedAt)
    countOutcome(this.totals, exchange)
  }

  #countTokens({ inputTokens = 0, outputTokens = 0, timeToFirstToken }: LlmFacts): void {
    const { totals } = this
    totals.tokensIn += sanitizeTokenCount(inputTokens)
    totals.tokensOut += sanitizeTokenCount(outputTokens)
    if (timeToFirstToken !== undefined) totals.firstTokens.add(parseFloat(timeToFirstToken) * 1000)
  }

  /** Others come first: series that join them while the rest is being read are not reported twice. */
  get #reportedRoutes(): RouteMetrics[] {
    return [this.#others, ...this.#routes.values()].filter(({ rows }) => rows.size > 0)
  }

  *#routeSeries(pick: (metrics: RouteMetrics) => number | Histogram): Generator<MetricSeries> {
    for (const metrics of this.#reportedRoutes) yield [metrics.labels, pick(metrics)]
  }

  *#requestSeries(): Generator<MetricSeries> {
    for (const { allRows } of this.#reportedRoutes)
      yield* allRows.map(({ labels, count }) => [labels, count] as const)
  }

  #routeFor({ choice: { routeKey: route, listenerKey: listener } }: Exchange): RouteMetrics {
    const key = route === '' ? listener : route
    let metrics = this.#routes.get(key)
    if (metrics !== undefined) return metrics
    if (this.#routes.size >= MAX_ROUTE_SERIES && !this.#evictUnconfigured()) return this.#others
    metrics = new RouteMetrics(listener, route)
    this.#routes.set(key, metrics)
    return metrics
  }

  #rowFor(exchange: Exchange, metrics: RouteMetrics): CounterRow {
    const {
      forwarding: { endpoint },
    } = exchange
    const code = this.#seriesCodeOf(exchange)
    let rows = metrics.rows.get(endpoint)
    let row = rows?.get(code)
    if (row !== undefined) return row
    while (this.#seriesCount >= MAX_REQUEST_SERIES)
      if (!this.#evictUnconfigured(metrics)) return this.#otherRow()
    if (rows === undefined) {
      rows = new Map()
      metrics.rows.set(endpoint, rows)
    }
    this.#seriesCount++
    row = { labels: { ...metrics.labels, ...requestLabelsOf(exchange) }, count: 0 }
    rows.set(code, row)
    return row
  }

  /**
   * Removes the least recently used route that is no longer configured. Its counts are added to the others, so that no
   * sum over all series ever decreases. Returns false when there is none.
   */
  #evictUnconfigured(except: RouteMetrics | null = null): boolean {
    let found: readonly [key: string, route: RouteMetrics] | null = null
    for (const key of this.#unconfigured) {
      const metrics = this.#routes.get(key)
      if (metrics === undefined || metrics === except) continue
      if (found === null || metrics.lastUsedAt < found[1].lastUsedAt) found = [key, metrics]
    }
    if (found === null) return false
    const [key, { allRows, duration, processing, backend, bytes, retries }] = found
    this.#unconfigured.delete(key)
    this.#routes.delete(key)
    this.#seriesCount -= allRows.length
    this.#otherRow().count += allRows.reduce((sum, { count }) => sum + count, 0)
    const others = this.#others
    others.duration.addAll(duration)
    others.processing.addAll(processing)
    others.backend.addAll(backend)
    others.bytes += bytes
    others.retries += retries
    return true
  }

  /** Combines status, method, protocol and reason in one small integer, which V8 stores without an allocation. */
  #seriesCodeOf(exchange: Exchange): number {
    const {
      response: { status },
      request,
      facts,
    } = exchange
    const method = METHODS.indexOf(request.method as (typeof METHODS)[number]) + 1
    const reason = outcomeReasonOf(exchange)
    let reasonIndex = this.#reasons.get(reason)
    if (reasonIndex === undefined) {
      reasonIndex = Math.min(this.#reasons.size, MAX_REASONS - 1)
      this.#reasons.set(reason, reasonIndex)
    }
    return ((status * 8 + method) * 4 + protocolIndexOf(facts)) * MAX_REASONS + reasonIndex
  }

  #otherRow(): CounterRow {
    const others = this.#others.rows
    let row = others.get(OTHER_LABEL)?.get(0)
    if (row !== undefined) return row
    const labels = {
      backend: OTHER_LABEL,
      protocol: OTHER_LABEL,
      method: OTHER_LABEL,
      status: OTHER_LABEL,
      reason: OTHER_LABEL,
    }
    row = { labels: { ...this.#others.labels, ...labels }, count: 0 }
    others.set(OTHER_LABEL, new Map([[0, row]]))
    return row
  }

  #countMcp(methodName: string, { tool, prompt, resource, task }: McpFacts): void {
    const method = MCP_METHODS.has(methodName) ? methodName : OTHER_LABEL
    const server = (tool ?? prompt ?? resource ?? task)?.target ?? UNKNOWN_LABEL
    const key = `${method} ${server}`
    let row = this.#mcp.get(key)
    if (row === undefined) {
      row =
        this.#mcp.size < MAX_MCP_SERIES ? { labels: { method, server }, count: 0 } : this.#mcpOthers
      if (row !== this.#mcpOthers) this.#mcp.set(key, row)
    }
    row.count++
  }
}

/** A request that the client closed is neither an error nor a refusal: streams often end this way. */
function countOutcome(counts: RequestCounts, { response: { status }, outcome }: Exchange): void {
  counts.requests++
  if (status >= 500) counts.errors++
  else if (outcome === 'client_closed') return
  else if (status >= 400) counts.refused++
  else if (status === 0 || outcome !== 'complete') counts.errors++
}

function protocolIndexOf(facts: Exchange['facts']): number {
  if (facts === null) return 0
  if (facts.llm !== undefined) return 2
  return facts.mcp === undefined ? 0 : 1
}

/** The same reason as in the access log. */
function outcomeReasonOf({ error, enforcement: { refusalReason }, outcome }: Exchange): string {
  return error?.code ?? (refusalReason || outcome)
}

function requestLabelsOf(exchange: Exchange): MetricLabels {
  const {
    forwarding: { endpoint },
    request,
    response: { status },
    facts,
  } = exchange
  const isKnown = METHODS.includes(request.method as (typeof METHODS)[number])
  return {
    backend: endpoint || UNKNOWN_LABEL,
    protocol: PROTOCOLS[protocolIndexOf(facts)]!,
    method: isKnown ? request.method : OTHER_LABEL,
    status: status === 0 ? UNKNOWN_LABEL : status,
    reason: outcomeReasonOf(exchange).toLowerCase(),
  }
}

/** Starts a new iteration for each reader. */
function iterateLazily(start: () => Iterator<MetricSeries>): Iterable<MetricSeries> {
  return { [Symbol.iterator]: start }
}
