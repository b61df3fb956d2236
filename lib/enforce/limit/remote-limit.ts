// The remoteRateLimit policy: limits counted for all replicas by a service with the Envoy rate limit protocol. Request
// limits are checked before the body is read, token limits when the values for their descriptors are known.

import { isUtf8 } from 'node:buffer'
import { sanitizeTokenCount } from '../../config/limit-status.ts'
import type { RemoteDescriptor, RemoteLimitConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderFields } from '../../core/head.ts'
import type { Log } from '../../core/log.ts'
import { buildReply, buildTextReply } from '../../core/replies.ts'
import type { Trace } from '../../core/trace-events.ts'
import type {
  Allowance,
  CancellableCall,
  Charge,
  Policy,
  Reply,
  TokenCost,
  TokenEstimate,
  TokenLimitPolicy,
} from '../../core/types.ts'
import type { Expression } from '../../expressions/compile.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import { celToJson } from '../../expressions/json-values.ts'
import { isForbiddenTrailer } from '../../http/header-fields.ts'
import type { CostHistory, LearningBucket } from './learned-costs.ts'
import { addRateLimitHeaders, pickTighterAllowance } from './limit-headers.ts'
import { isRateLimitFailure } from './rate-limit-call.ts'
import type { RateLimitResult } from './rate-limit-call.ts'
import { isRateLimitUnit } from './rate-limit-messages.ts'
import type {
  DescriptorEntry,
  DescriptorStatus,
  LimitOverride,
  RateLimitDescriptor,
  RateLimitHeader,
  RateLimitRequest,
  RateLimitResponse,
} from './rate-limit-messages.ts'
import { RATE_LIMIT_TIMEOUT_MS } from './rate-limit-service.ts'
import type { RateLimitService } from './rate-limit-service.ts'

/** Also needed when only tokens are limited: it adds the service's headers to responses. */
export function createRemoteRateLimitPolicy(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): Policy {
  const requestDescriptors = config.descriptors.filter(({ counts }) => counts === 'requests')
  return {
    kind: 'remoteRateLimit',
    request(exchange) {
      const descriptors = evaluateDescriptors(
        requestDescriptors,
        exchange,
        log,
        evaluateRequestDescriptor,
      )
      if (descriptors.length === 0) {
        exchange.trace?.skipPolicy('no request descriptor applies')
        return undefined
      }
      return checkRemoteLimit(exchange, { config, counts: 'requests', service, descriptors })
    },
    response: addServiceHeaders,
  }
}

/** Where the tokens of a policy are counted, and what was learned about their costs; both outlive a reload. */
interface RemoteTokenCounter {
  readonly service: RateLimitService
  readonly costs: CostHistory
}

/**
 * Admission asks for `ADMISSION_HITS` only, because the service would deny an estimate larger than what is left: the request
 * that overshoots the budget passes (§8). The rest of the estimate follows at once, without waiting for the answer.
 */
export function createRemoteTokenLimitPolicy(
  config: RemoteLimitConfig,
  { service, costs }: RemoteTokenCounter,
  log: Log,
): TokenLimitPolicy {
  const tokenDescriptors = config.descriptors.filter(({ counts }) => counts === 'tokens')
  return {
    kind: 'tokenLimit',
    admit(exchange, estimate) {
      const counters = evaluateDescriptors(tokenDescriptors, exchange, log, evaluateCounter)
      if (counters.length === 0) return undefined
      const descriptors = counters.map(createAdmissionDescriptor)
      const check = { config, counts: 'tokens', service, descriptors } as const
      return checkRemoteLimit(exchange, check, (taken) => {
        const { domain } = config
        const charge = new RemoteCharge(service, exchange, { domain, counters, costs, taken })
        // A service that did not answer the admission is not asked again.
        if (taken === 'something') charge.raise(estimate)
        exchange.enforcement.charges = [...exchange.enforcement.charges, charge]
      })
    },
  }
}

/** Descriptors whose expressions have no value do not apply; the others do. */
function evaluateDescriptors<Result>(
  descriptors: readonly RemoteDescriptor[],
  exchange: Exchange,
  log: Log,
  evaluate: (descriptor: RemoteDescriptor, view: ExpressionView) => Result | null,
): Result[] {
  if (descriptors.length === 0) return []
  const view = new ExpressionView(exchange, exchange.facts ?? undefined)
  const results: Result[] = []
  for (const descriptor of descriptors) {
    const result = evaluate(descriptor, view)
    if (result !== null) results.push(result)
    else if (log.allows('debug', 'limits')) {
      const entries = descriptor.entries.map(({ key }) => key).join(',')
      log.write('debug', 'limits', 'descriptor has no value', ['entries', entries])
    }
  }
  return results
}

interface RemoteLimitCheck {
  readonly config: RemoteLimitConfig
  readonly counts: RemoteDescriptor['counts']
  readonly service: RateLimitService
  readonly descriptors: readonly RateLimitDescriptor[]
}

/** Calls `pass` when the request may pass, with whether the service counted it: in `failOpen` mode it may not have. */
async function checkRemoteLimit(
  exchange: Exchange,
  { config, counts, service, descriptors }: RemoteLimitCheck,
  pass: (taken: AdmissionTaken) => void = () => {},
): Promise<Reply | undefined> {
  const { domain, failureMode, timeout } = config
  const ms = timeout ?? RATE_LIMIT_TIMEOUT_MS
  // A request admitted as free may be charged after its response was sent; then the client does not wait for this.
  const isLate = exchange.isAnswered
  const request = { domain, descriptors }
  const result = isLate
    ? await service.query(request, ms).answer
    : await queryForExchange(exchange, service, request, ms)
  // The client may have closed the connection in the meantime, or received a timeout response.
  if (exchange.isAnswered && !isLate) return undefined
  if (exchange.trace !== null) traceRemoteDecisions(exchange.trace, config, counts, result)
  if (isRateLimitFailure(result)) {
    service.decisions.failed++
    if (failureMode === 'failClosed') {
      exchange.enforcement.refusalReason = 'rate_limit_unavailable'
      return buildTextReply(500, 'rate limit failed')
    }
    pass('nothing')
    return undefined
  }
  service.decisions[result.code === 'over' ? 'deny' : 'allow']++
  if (result.code === 'over') return createServiceRefusal(exchange, result)
  applyServiceHeaders(exchange, result)
  pass('something')
  return undefined
}

/** Records the decision of the service for each descriptor in the trace. */
function traceRemoteDecisions(
  trace: Trace,
  { domain: rule, failureMode }: RemoteLimitConfig,
  counts: RemoteDescriptor['counts'],
  result: RateLimitResult,
): void {
  const common = { type: 'rateLimit', rule, counts, bucket: null } as const
  if (isRateLimitFailure(result)) {
    const decision = failureMode === 'failOpen' ? 'allow' : 'deny'
    const unknown = { limit: null, remaining: null, reset: null }
    trace.emit({ ...common, decision, ...unknown, error: result.reason }, { severity: 'error' })
    return
  }
  for (const { code, limit, remaining, reset } of result.statuses) {
    const decision = code === 'over' ? 'deny' : 'allow'
    const severity = code === 'over' ? 'error' : 'success'
    trace.emit({ ...common, decision, limit, remaining, reset, error: null }, { severity })
  }
}

/** Bounds on the headers of one service response. */
const MAX_HEADERS = 32
const MAX_SERVICE_HEADER_LENGTH = 8_192

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** No control characters except tabs: a line break would allow header injection. */
const HEADER_VALUE = /^[\t -~\x80-\xff]*$/

/** Adds the service's headers to a request that passes, and remembers those for the response. */
function applyServiceHeaders(exchange: Exchange, answer: RateLimitResponse): void {
  recordTightestStatus(exchange, answer.statuses)
  replaceHeaders(exchange.request, selectSafeHeaders(answer.requestHeaders))
  rememberResponseHeaders(exchange, selectSafeHeaders(answer.responseHeaders))
}

/** Creates the 429 of a request that the service denies, with the service's body if there is one. */
function createServiceRefusal(exchange: Exchange, answer: RateLimitResponse): Reply {
  exchange.enforcement.refusalReason = 'rate_limit'
  const over = answer.statuses.filter(({ code }) => code === 'over')
  const allowance = findTightestStatus(over)
  recordTightestStatus(exchange, over)
  rememberResponseHeaders(exchange, selectSafeHeaders(answer.responseHeaders))
  const content = answer.body.length === 0 ? 'rate limit exceeded' : answer.body
  const reply = buildReply(429, [['content-type', 'text/plain']], content)
  if (allowance !== null && allowance.reset > 0)
    reply.head.add('retry-after', String(allowance.reset))
  return reply
}

/** Adds the rate limit headers to the response; the service's own headers replace them. */
function addServiceHeaders(exchange: Exchange, head: HeaderFields): void {
  addRateLimitHeaders(exchange, head)
  replaceHeaders(head, exchange.enforcement.rateLimitHeaders)
}

function recordTightestStatus(exchange: Exchange, statuses: readonly DescriptorStatus[]): void {
  const allowance = findTightestStatus(statuses)
  if (allowance !== null)
    exchange.enforcement.allowance = pickTighterAllowance(exchange.enforcement.allowance, allowance)
}

function findTightestStatus(statuses: readonly DescriptorStatus[]): Allowance | null {
  let tightest: Allowance | null = null
  for (const { limit, remaining, reset } of statuses)
    if (limit !== null)
      tightest = pickTighterAllowance(tightest, { limit, remaining, reset: reset ?? 0 })
  return tightest
}

/** Returns the headers in lower case, without malformed ones and those for framing or the connection. */
function selectSafeHeaders(headers: readonly RateLimitHeader[]): RateLimitHeader[] {
  return headers
    .slice(0, MAX_HEADERS)
    .map(([name, value]): RateLimitHeader => [
      name.toLowerCase(),
      value.replace(/^[\t ]+|[\t ]+$/g, ''),
    ])
    .filter(
      ([name, value]) =>
        HEADER_NAME.test(name) && !isForbiddenTrailer(name) && isLegalHeaderValue(value),
    )
}

function isLegalHeaderValue(value: string): boolean {
  return value.length <= MAX_SERVICE_HEADER_LENGTH && HEADER_VALUE.test(value)
}

/** A later value of a header replaces an earlier one. */
function rememberResponseHeaders(exchange: Exchange, headers: readonly RateLimitHeader[]): void {
  if (headers.length === 0) return
  const names = new Set(headers.map(([name]) => name))
  const others = exchange.enforcement.rateLimitHeaders.filter(([name]) => !names.has(name))
  exchange.enforcement.rateLimitHeaders = [...others, ...headers]
}

/** Replaces existing headers: a client must not be able to set the service's headers. */
function replaceHeaders(fields: HeaderFields, headers: readonly RateLimitHeader[]): void {
  for (const [name] of headers) fields.remove(name)
  for (const [name, value] of headers) fields.add(name, value)
}

/** Longer values are truncated, not omitted: a long value must not bypass a limit. */
const MAX_DESCRIPTOR_VALUE_LENGTH = 4_096

const MAX_UINT32 = 2 ** 32 - 1

/** An evaluated descriptor without its number of hits. */
interface RateLimitCounter {
  readonly entries: readonly DescriptorEntry[]
  readonly limit: LimitOverride | null
  readonly cost: Expression | null
}

/** Returns null when one of the expressions has no value: then the descriptor does not apply. */
function evaluateCounter(config: RemoteDescriptor, view: ExpressionView): RateLimitCounter | null {
  const entries: DescriptorEntry[] = []
  for (const { key, value } of config.entries) {
    const text = value.evaluateText(view)
    if (text === null) return null
    entries.push({ key, value: decodeUtf8Value(text.slice(0, MAX_DESCRIPTOR_VALUE_LENGTH)) })
  }
  const { cost } = config
  if (config.limitOverride === null) return { entries, limit: null, cost }
  const limit = evaluateOverride(config.limitOverride, view)
  return limit === null ? null : { entries, limit, cost }
}

/** Evaluates a descriptor that counts requests; without a cost the service adds 1. */
function evaluateRequestDescriptor(
  config: RemoteDescriptor,
  view: ExpressionView,
): RateLimitDescriptor | null {
  const counter = evaluateCounter(config, view)
  if (counter === null) return null
  const { entries, limit, cost } = counter
  if (cost === null) return { entries, limit, hits: null }
  const hits = evaluateCost(cost, view)
  return hits === null ? null : { entries, limit, hits }
}

/** Returns a cost of at least 0, rounded up to an integer; null for all other values. */
function evaluateCost(expression: Expression, view: ExpressionView): number | null {
  const text = expression.evaluateText(view)
  const cost = text === null || text === '' ? NaN : Number(text)
  return cost >= 0 ? Math.min(Math.ceil(cost), MAX_UINT32) : null
}

/** Header values are latin1 text, one character per byte; if these bytes are UTF-8, decodes them as such. */
function decodeUtf8Value(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  return bytes.toString('latin1') === text && isUtf8(bytes) ? bytes.toString() : text
}

/** The expression returns `{"unit": "minute", "requestsPerUnit": 100}`. */
function evaluateOverride(expression: Expression, view: ExpressionView): LimitOverride | null {
  const result = expression.evaluate(view)
  if ('fault' in result) return null
  const override: unknown = JSON.parse(celToJson(result.value))
  if (typeof override !== 'object' || override === null) return null
  const {
    unit,
    requestsPerUnit,
    requests_per_unit: amount = requestsPerUnit,
  } = override as {
    unit?: unknown
    requestsPerUnit?: unknown
    requests_per_unit?: unknown
  }
  const unitName = typeof unit === 'string' ? unit.toLowerCase() : ''
  if (!isRateLimitUnit(unitName) || typeof amount !== 'number' || !Number.isInteger(amount))
    return null
  return amount >= 0 && amount <= MAX_UINT32 ? { amount, unit: unitName } : null
}

/** Longer than the timeout of an admission, because no client waits for it. */
const SETTLE_TIMEOUT_MS = 5_000

/** Hits of each counter at admission: the minimum cost of a request, so that a service with nothing left denies. */
const ADMISSION_HITS = 1

type AdmissionTaken = 'something' | 'nothing'

interface RemoteChargeContext {
  readonly domain: string
  readonly counters: readonly RateLimitCounter[]
  readonly costs: CostHistory
  readonly taken: AdmissionTaken
}

/** The learned costs belong to the policy and the model: the buckets are in the service. */
const NO_BUCKET: LearningBucket = { learnedCosts: null }

/** A descriptor with its own cost may count something other than tokens, so it is only checked. */
function createAdmissionDescriptor({
  entries,
  limit,
  cost,
}: RateLimitCounter): RateLimitDescriptor {
  return { entries, limit, hits: cost === null ? ADMISSION_HITS : 0 }
}

/**
 * Reports the estimate of a request to the service, and at its end what it cost beyond that: the protocol has no refund.
 * The service counts each report in the window in which it arrives, because the protocol cannot name an earlier one.
 */
class RemoteCharge implements Charge {
  readonly #service: RateLimitService
  readonly #exchange: Exchange
  readonly #charged: RemoteChargeContext
  #state: 'open' | 'settled' = 'open'
  #estimate: TokenEstimate | null = null
  /** Tokens of each counter without its own cost that the service has counted. */
  #taken: number

  constructor(service: RateLimitService, exchange: Exchange, charged: RemoteChargeContext) {
    this.#service = service
    this.#exchange = exchange
    this.#charged = charged
    this.#taken = charged.taken === 'something' ? ADMISSION_HITS : 0
  }

  raise(estimate: TokenEstimate): void {
    if (this.#state === 'settled') return
    this.#estimate = estimate
    const { domain, counters, costs } = this.#charged
    const hits = Math.min(costs.predict(NO_BUCKET, estimate), MAX_UINT32) - this.#taken
    const counted = counters.filter(({ cost }) => cost === null)
    if (hits <= 0 || counted.length === 0) return
    this.#taken += hits
    const descriptors = counted.map(({ entries, limit }) => ({ entries, limit, hits }))
    const { answer } = this.#service.query({ domain, descriptors }, SETTLE_TIMEOUT_MS)
    // The settlement reports what the service did not count; the decision is ignored, as the request was admitted.
    void answer.then((result) => {
      if (isRateLimitFailure(result)) this.#taken -= hits
    })
  }

  settle(tokenCost: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const { domain, counters, costs } = this.#charged
    if (this.#estimate !== null) costs.learn(NO_BUCKET, this.#estimate, tokenCost)
    const { input, output } = tokenCost
    const total = Math.min(sanitizeTokenCount(input) + sanitizeTokenCount(output), MAX_UINT32)
    // A request that reached no provider costs nothing, but its estimate cannot be refunded.
    if (total === 0) return
    const descriptors = counters.flatMap((counter) => this.#settlementOf(counter, total))
    // The result is ignored: the request has ended, and the service client logs failures.
    if (descriptors.length > 0) this.#service.query({ domain, descriptors }, SETTLE_TIMEOUT_MS)
  }

  #settlementOf({ entries, limit, cost }: RateLimitCounter, total: number): RateLimitDescriptor[] {
    const exchange = this.#exchange
    const hits =
      cost === null
        ? total - this.#taken
        : evaluateCost(cost, new ExpressionView(exchange, exchange.facts ?? undefined))
    return hits === null || hits <= 0 ? [] : [{ entries, limit, hits }]
  }
}

/** Cancels the query when the client closes the connection or the request times out. */
async function queryForExchange(
  exchange: Exchange,
  service: RateLimitService,
  request: RateLimitRequest,
  ms: number,
): Promise<RateLimitResult> {
  const query = service.query(request, ms)
  const outer = exchange.pendingCall
  const call: CancellableCall = {
    cancel() {
      query.cancel()
      outer?.cancel()
    },
  }
  exchange.pendingCall = call
  const result = await query.answer
  if (exchange.pendingCall === call) exchange.pendingCall = outer
  return result
}
