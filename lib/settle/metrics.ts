// What every exchange adds to the statistics when it is settled: a few look-ups and sums, and no new object once its
// route, status and backend were seen before.

import type { LlmFacts, McpFacts } from '../base/cel/facts.ts'
import type { Exchange } from '../base/exchange.ts'
import { soundTokens } from '../base/limit/sound-tokens.ts'
import { Histogram, OTHER, UNKNOWN } from '../base/metrics.ts'
import type { Family, Labels } from '../base/metrics.ts'
import { Totals } from '../base/totals.ts'
import type { Counts } from '../base/totals.ts'
import { LlmMetrics } from './llm-metrics.ts'

/** Series of requests, over all routes; whatever comes above is counted together. */
export const MAX_SERIES = 5_000
const MAX_PLACES = 1_000
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

interface Row {
  readonly labels: Labels
  count: number
}

/** One route, or a listener for what no route took. */
class Place implements Counts {
  readonly labels: Labels
  /** By backend, then by status and the like as one number. */
  readonly rows = new Map<string, Map<number, Row>>()
  readonly duration = new Histogram(SECONDS)
  readonly processing = new Histogram(SECONDS)
  readonly backend = new Histogram(SECONDS)
  requests = 0
  errors = 0
  refused = 0
  bytes = 0
  retries = 0

  constructor(listener: string, route: string) {
    this.labels = { listener: listener || UNKNOWN, route: route || UNKNOWN }
  }
}

/** Words for how requests ended: error codes, refusals and outcomes are fewer. */
const MOST_REASONS = 128

export class Metrics {
  readonly totals = new Totals()
  /** By route; by listener, where there is none. */
  readonly #places = new Map<string, Place>()
  readonly #others = new Place(OTHER, OTHER)
  readonly #reasons = new Map<string, number>()
  readonly #mcp = new Map<string, Row>()
  readonly #mcpOthers: Row = { labels: { method: OTHER, server: OTHER }, count: 0 }
  readonly #llm = new LlmMetrics()
  #series = 0

  count(exchange: Exchange): void {
    const now = performance.now()
    const { facts, started, asked, answered } = exchange
    const place = this.#placeOf(exchange)
    this.#rowOf(exchange, place).count++
    place.duration.add((now - started) / 1000)
    this.totals.durations.add(now - started)
    countEnd(this.totals, exchange)
    countEnd(place, exchange)
    if (asked > 0) {
      place.processing.add((asked - started) / 1000)
      if (answered > 0) place.backend.add((answered - asked) / 1000)
    }
    place.bytes += exchange.client.written
    place.retries += exchange.retries
    if (facts === null) return
    if (facts.mcp?.methodName !== undefined) this.#countMcp(facts.mcp.methodName, facts.mcp)
    if (facts.llm === undefined) return
    this.#llm.count(facts.llm, (now - started) / 1000)
    this.#countTokens(facts.llm)
  }

  /** By key of the route; of a listener, for what no route took. */
  get traffic(): ReadonlyMap<string, Readonly<Counts>> {
    return this.#places
  }

  collect(): Family[] {
    const places = [...this.#places.values(), this.#others].filter(({ rows }) => rows.size > 0)
    const histograms = (pick: (place: Place) => Histogram): Family['series'] =>
      places.map((place) => [place.labels, pick(place)])
    const rows = places.flatMap((place) =>
      [...place.rows.values()].flatMap((some) => [...some.values()]),
    )
    return [
      counter('requests_total', 'Requests, when their answer is out or never will be', rows),
      {
        name: 'request_duration_seconds',
        kind: 'histogram',
        help: 'From the head of a request to the end of its answer',
        series: histograms(({ duration }) => duration),
      },
      {
        name: 'request_processing_seconds',
        kind: 'histogram',
        help: 'From the head of a request until a backend was asked',
        series: histograms(({ processing }) => processing),
      },
      {
        name: 'upstream_call_duration_seconds',
        kind: 'histogram',
        help: 'From asking a backend to the head of its answer, further tries included',
        series: histograms(({ backend }) => backend),
      },
      counter(
        'response_bytes_total',
        "Bytes of answers' bodies on the wire, lines of chunks included",
        places.map(({ labels, bytes }) => ({ labels, count: bytes })),
      ),
      counter(
        'retries_total',
        'Tries behind the first',
        places.map(({ labels, retries }) => ({ labels, count: retries })),
      ),
      counter('mcp_requests_total', 'Messages of MCP clients', [
        ...this.#mcp.values(),
        ...(this.#mcpOthers.count > 0 ? [this.#mcpOthers] : []),
      ]),
      ...this.#llm.collect(),
    ]
  }

  #countTokens({ inputTokens = 0, outputTokens = 0, timeToFirstToken }: LlmFacts): void {
    const { totals } = this
    totals.tokensIn += soundTokens(inputTokens)
    totals.tokensOut += soundTokens(outputTokens)
    if (timeToFirstToken !== undefined) totals.firstTokens.add(parseFloat(timeToFirstToken) * 1000)
  }

  #placeOf({ route, listener }: Exchange): Place {
    const key = route === '' ? listener : route
    let place = this.#places.get(key)
    if (place !== undefined) return place
    if (this.#places.size >= MAX_PLACES) return this.#others
    place = new Place(listener, route)
    this.#places.set(key, place)
    return place
  }

  #rowOf(exchange: Exchange, place: Place): Row {
    const { endpoint } = exchange
    let rows = place.rows.get(endpoint)
    if (rows === undefined) {
      if (this.#series >= MAX_SERIES) return this.#otherRow()
      rows = new Map()
      place.rows.set(endpoint, rows)
    }
    const code = this.#codeOf(exchange)
    let row = rows.get(code)
    if (row !== undefined) return row
    if (this.#series >= MAX_SERIES) return this.#otherRow()
    this.#series++
    row = { labels: { ...place.labels, ...labelsOf(exchange) }, count: 0 }
    rows.set(code, row)
    return row
  }

  /** Small enough to be no object of its own. */
  #codeOf(exchange: Exchange): number {
    const { status, request, facts } = exchange
    const method = METHODS.indexOf(request.method as (typeof METHODS)[number]) + 1
    const reason = reasonOf(exchange)
    let number = this.#reasons.get(reason)
    if (number === undefined) {
      number = Math.min(this.#reasons.size, MOST_REASONS - 1)
      this.#reasons.set(reason, number)
    }
    return ((status * 8 + method) * 4 + protocolOf(facts)) * MOST_REASONS + number
  }

  #otherRow(): Row {
    const others = this.#others.rows
    let row = others.get(OTHER)?.get(0)
    if (row !== undefined) return row
    const labels = { backend: OTHER, protocol: OTHER, method: OTHER, status: OTHER, reason: OTHER }
    row = { labels: { ...this.#others.labels, ...labels }, count: 0 }
    others.set(OTHER, new Map([[0, row]]))
    return row
  }

  #countMcp(written: string, { tool, prompt, resource, task }: McpFacts): void {
    const method = MCP_METHODS.has(written) ? written : OTHER
    const server = (tool ?? prompt ?? resource ?? task)?.target ?? UNKNOWN
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
function countEnd(counts: Counts, { status, outcome }: Exchange): void {
  counts.requests++
  if (status >= 500) counts.errors++
  else if (outcome === 'client_closed') return
  else if (status >= 400) counts.refused++
  else if (status === 0 || outcome !== 'complete') counts.errors++
}

function protocolOf(facts: Exchange['facts']): number {
  if (facts === null) return 0
  if (facts.llm !== undefined) return 2
  return facts.mcp === undefined ? 0 : 1
}

/** As the access line has it. */
function reasonOf({ error, refusal, outcome }: Exchange): string {
  return error?.code ?? (refusal || outcome)
}

function labelsOf(exchange: Exchange): Labels {
  const { endpoint, request, status, facts } = exchange
  const isKnown = METHODS.includes(request.method as (typeof METHODS)[number])
  return {
    backend: endpoint || UNKNOWN,
    protocol: PROTOCOLS[protocolOf(facts)]!,
    method: isKnown ? request.method : OTHER,
    status: status === 0 ? UNKNOWN : status,
    reason: reasonOf(exchange).toLowerCase(),
  }
}

function counter(name: string, help: string, rows: readonly Row[]): Family {
  const series = rows.map(({ labels, count }) => [labels, count] as const)
  return { name, kind: 'counter', help, series }
}
