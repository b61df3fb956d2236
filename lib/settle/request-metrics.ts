// What every exchange adds to the statistics when it is settled: a few look-ups and sums, and no new object once its
// route, status and backend were seen before.

import type { LlmFacts, McpFacts } from '../core/facts.ts'
import type { Exchange } from '../core/exchange.ts'
import { sanitizeTokenCount } from '../config/limit-status.ts'
import { Histogram, OTHER_LABEL, UNKNOWN_LABEL } from '../core/metric-families.ts'
import type { MetricFamily, MetricLabels, MetricSeries } from '../core/metric-families.ts'
import { RequestTotals } from '../core/traffic-totals.ts'
import type { RequestCounts } from '../core/traffic-totals.ts'
import { UI_ENDPOINT } from '../core/well-known-paths.ts'
import { LlmMetrics } from './llm-metrics.ts'

/**
 * Series of requests, over all routes, and routes. A route that is no longer configured keeps its place until another one
 * needs it; whatever comes above that is counted together.
 */
export const MAX_REQUEST_SERIES = 5_000
export const MAX_ROUTE_SERIES = 1_000
const MAX_MCP = 1_000

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const
const PROTOCOLS = ['http', 'mcp', 'llm'] as const

/** Those of the protocol: a client can make up others. */
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

/** One route, or a listener for what no route took. */
class RouteMetrics implements RequestCounts {
  readonly labels: MetricLabels
  /** By backend, then by status and the like as one number. */
  readonly rows = new Map<string, Map<number, CounterRow>>()
  readonly duration = new Histogram(SECONDS)
  readonly processing = new Histogram(SECONDS)
  readonly backend = new Histogram(SECONDS)
  requests = 0
  errors = 0
  refused = 0
  bytes = 0
  retries = 0
  /** When something was counted last. */
  lastUsedAt = 0

  constructor(listener: string, route: string) {
    this.labels = { listener: listener || UNKNOWN_LABEL, route: route || UNKNOWN_LABEL }
  }

  get allRows(): CounterRow[] {
    return [...this.rows.values()].flatMap((some) => [...some.values()])
  }
}

/** Words for how requests ended: error codes, refusals and outcomes are fewer. */
const MOST_REASONS = 128

export class RequestMetrics {
  readonly totals = new RequestTotals()
  /** By route; by listener, where there is none. */
  readonly #places = new Map<string, RouteMetrics>()
  readonly #others = new RouteMetrics(OTHER_LABEL, OTHER_LABEL)
  /** Those that no configuration in force names. */
  #gone = new Set<string>()
  readonly #reasons = new Map<string, number>()
  readonly #mcp = new Map<string, CounterRow>()
  readonly #mcpOthers: CounterRow = {
    labels: { method: OTHER_LABEL, server: OTHER_LABEL },
    count: 0,
  }
  readonly #llm = new LlmMetrics()
  #series = 0

  /** `now` is on the clock of `performance.now()`. */
  count(exchange: Exchange, now = performance.now()): void {
    const {
      facts,
      startedAt,
      forwarding: { calledAt: asked },
      response: { receivedAt: answered },
    } = exchange
    const place = this.#placeOf(exchange)
    place.lastUsedAt = now
    this.#rowOf(exchange, place).count++
    place.duration.add((now - startedAt) / 1000)
    this.#countTotals(exchange, now)
    countOutcome(place, exchange)
    if (asked > 0) {
      place.processing.add((asked - startedAt) / 1000)
      if (answered > 0) place.backend.add((answered - asked) / 1000)
    }
    place.bytes += exchange.client.bytesWritten
    place.retries += exchange.forwarding.retries
    if (facts === null) return
    if (facts.mcp?.methodName !== undefined) this.#countMcp(facts.mcp.methodName, facts.mcp)
    if (facts.llm === undefined) return
    this.#llm.count(facts.llm, (now - startedAt) / 1000)
    this.#countTokens(facts.llm)
  }

  /** By key of the route; of a listener, for what no route took. */
  get countsByRoute(): ReadonlyMap<string, Readonly<RequestCounts>> {
    return this.#places
  }

  /** These are configured now, by key: routes, and listeners for what no route takes. */
  retain(keys: ReadonlySet<string>): void {
    this.#gone = new Set([...this.#places.keys()].filter((key) => key !== '' && !keys.has(key)))
  }

  collect(): MetricFamily[] {
    const each = (pick: (place: RouteMetrics) => number | Histogram): Iterable<MetricSeries> =>
      iterateLazily(() => this.#each(pick))
    return [
      {
        name: 'requests_total',
        kind: 'counter',
        help: 'Requests, when their answer is out or never will be',
        series: iterateLazily(() => this.#rows()),
      },
      {
        name: 'request_duration_seconds',
        kind: 'histogram',
        help: 'From the head of a request to the end of its answer',
        series: each(({ duration }) => duration),
      },
      {
        name: 'request_processing_seconds',
        kind: 'histogram',
        help: 'From the head of a request until a backend was asked',
        series: each(({ processing }) => processing),
      },
      {
        name: 'upstream_call_duration_seconds',
        kind: 'histogram',
        help: 'From asking a backend to the head of its answer, further tries included',
        series: each(({ backend }) => backend),
      },
      {
        name: 'response_bytes_total',
        kind: 'counter',
        help: "Bytes of answers' bodies on the wire, lines of chunks included",
        series: each(({ bytes }) => bytes),
      },
      {
        name: 'retries_total',
        kind: 'counter',
        help: 'Tries behind the first',
        series: each(({ retries }) => retries),
      },
      {
        name: 'mcp_requests_total',
        kind: 'counter',
        help: 'Messages of MCP clients',
        series: [...this.#mcp.values(), this.#mcpOthers]
          .filter(({ count }) => count > 0)
          .map(({ labels, count }) => [labels, count]),
      },
      ...this.#llm.collect(),
    ]
  }

  /** Whoever looks at the page is not what it shows. */
  #countTotals(exchange: Exchange, now: number): void {
    const {
      startedAt,
      response: { receivedAt: answered },
      forwarding: { endpoint },
    } = exchange
    if (endpoint === UI_ENDPOINT) return
    this.totals.firstBytes.add((answered || now) - startedAt)
    countOutcome(this.totals, exchange)
  }

  #countTokens({ inputTokens = 0, outputTokens = 0, timeToFirstToken }: LlmFacts): void {
    const { totals } = this
    totals.tokensIn += sanitizeTokenCount(inputTokens)
    totals.tokensOut += sanitizeTokenCount(outputTokens)
    if (timeToFirstToken !== undefined) totals.firstTokens.add(parseFloat(timeToFirstToken) * 1000)
  }

  /** The others come first, in the turn in which the rest is noted: what joins them later is not told twice. */
  get #shown(): RouteMetrics[] {
    return [this.#others, ...this.#places.values()].filter(({ rows }) => rows.size > 0)
  }

  *#each(pick: (place: RouteMetrics) => number | Histogram): Generator<MetricSeries> {
    for (const place of this.#shown) yield [place.labels, pick(place)]
  }

  *#rows(): Generator<MetricSeries> {
    for (const { allRows } of this.#shown)
      yield* allRows.map(({ labels, count }) => [labels, count] as const)
  }

  #placeOf({ choice: { routeKey: route, listenerKey: listener } }: Exchange): RouteMetrics {
    const key = route === '' ? listener : route
    let place = this.#places.get(key)
    if (place !== undefined) return place
    if (this.#places.size >= MAX_ROUTE_SERIES && !this.#makeRoom()) return this.#others
    place = new RouteMetrics(listener, route)
    this.#places.set(key, place)
    return place
  }

  #rowOf(exchange: Exchange, place: RouteMetrics): CounterRow {
    const {
      forwarding: { endpoint },
    } = exchange
    const code = this.#codeOf(exchange)
    let rows = place.rows.get(endpoint)
    let row = rows?.get(code)
    if (row !== undefined) return row
    while (this.#series >= MAX_REQUEST_SERIES) if (!this.#makeRoom(place)) return this.#otherRow()
    if (rows === undefined) {
      rows = new Map()
      place.rows.set(endpoint, rows)
    }
    this.#series++
    row = { labels: { ...place.labels, ...requestLabelsOf(exchange) }, count: 0 }
    rows.set(code, row)
    return row
  }

  /**
   * Of those that are gone, the one that counted nothing for longest gives way. What it had is counted with the others,
   * so that no sum over all of them ever goes down.
   */
  #makeRoom(but: RouteMetrics | null = null): boolean {
    let found: readonly [key: string, place: RouteMetrics] | null = null
    for (const key of this.#gone) {
      const place = this.#places.get(key)
      if (place === undefined || place === but) continue
      if (found === null || place.lastUsedAt < found[1].lastUsedAt) found = [key, place]
    }
    if (found === null) return false
    const [key, { allRows, duration, processing, backend, bytes, retries }] = found
    this.#gone.delete(key)
    this.#places.delete(key)
    this.#series -= allRows.length
    this.#otherRow().count += allRows.reduce((sum, { count }) => sum + count, 0)
    const others = this.#others
    others.duration.addAll(duration)
    others.processing.addAll(processing)
    others.backend.addAll(backend)
    others.bytes += bytes
    others.retries += retries
    return true
  }

  /** Small enough to be no object of its own. */
  #codeOf(exchange: Exchange): number {
    const {
      response: { status },
      request,
      facts,
    } = exchange
    const method = METHODS.indexOf(request.method as (typeof METHODS)[number]) + 1
    const reason = outcomeReasonOf(exchange)
    let number = this.#reasons.get(reason)
    if (number === undefined) {
      number = Math.min(this.#reasons.size, MOST_REASONS - 1)
      this.#reasons.set(reason, number)
    }
    return ((status * 8 + method) * 4 + protocolIndexOf(facts)) * MOST_REASONS + number
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

  #countMcp(written: string, { tool, prompt, resource, task }: McpFacts): void {
    const method = MCP_METHODS.has(written) ? written : OTHER_LABEL
    const server = (tool ?? prompt ?? resource ?? task)?.target ?? UNKNOWN_LABEL
    const key = `${method} ${server}`
    let row = this.#mcp.get(key)
    if (row === undefined) {
      row = this.#mcp.size < MAX_MCP ? { labels: { method, server }, count: 0 } : this.#mcpOthers
      if (row !== this.#mcpOthers) this.#mcp.set(key, row)
    }
    row.count++
  }
}

/** A client that leaves is nobody's fault: streams end so. */
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

/** As the access line has it. */
function outcomeReasonOf({
  error,
  enforcement: { refusalReason: refusal },
  outcome,
}: Exchange): string {
  return error?.code ?? (refusal || outcome)
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

/** Begins with whoever reads it. */
function iterateLazily(begin: () => Iterator<MetricSeries>): Iterable<MetricSeries> {
  return { [Symbol.iterator]: begin }
}
