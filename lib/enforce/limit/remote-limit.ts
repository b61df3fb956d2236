// remoteRateLimit: limits counted by a service that speaks the Envoy rate limit protocol, for all replicas together.
// Requests are asked about before a body is looked at, tokens when as much of it is known as descriptors need.

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
  TokenLimitPolicy,
} from '../../core/types.ts'
import type { Expression } from '../../expressions/compile.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import { celToJson } from '../../expressions/json-values.ts'
import { isForbiddenTrailer } from '../../http/header-fields.ts'
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

/** Needed also where only tokens are limited, for what the service says on answers. */
export function createRemoteRateLimitPolicy(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): Policy {
  const counting = config.descriptors.filter(({ counts }) => counts === 'requests')
  return {
    kind: 'remoteRateLimit',
    request(exchange) {
      const descriptors = evaluateDescriptors(counting, exchange, log, evaluateRequestDescriptor)
      if (descriptors.length === 0) {
        exchange.trace?.skipPolicy('no descriptor of requests applies')
        return undefined
      }
      return checkRemoteLimit(exchange, { config, counts: 'requests', service, descriptors })
    },
    response: addServiceHeaders,
  }
}

/**
 * At admission each counter is charged `TAKEN` and no estimate: the protocol has no way to give back what a request did not
 * use. With nothing left the service says no; the request that goes beyond the budget passes, and the next does not.
 */
export function createRemoteTokenLimitPolicy(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): TokenLimitPolicy {
  const counting = config.descriptors.filter(({ counts }) => counts === 'tokens')
  return {
    kind: 'tokenLimit',
    admit(exchange) {
      const counters = evaluateDescriptors(counting, exchange, log, evaluateCounter)
      if (counters.length === 0) return undefined
      const descriptors = counters.map(createAdmissionDescriptor)
      const matter = { config, counts: 'tokens', service, descriptors } as const
      return checkRemoteLimit(exchange, matter, (taken) => {
        const charge = new RemoteCharge(service, exchange, {
          domain: config.domain,
          counters,
          taken,
        })
        exchange.enforcement.charges = [...exchange.enforcement.charges, charge]
      })
    },
  }
}

/** Descriptors without a value do not apply; others do all the same. */
function evaluateDescriptors<Made>(
  descriptors: readonly RemoteDescriptor[],
  exchange: Exchange,
  log: Log,
  make: (descriptor: RemoteDescriptor, view: ExpressionView) => Made | null,
): Made[] {
  if (descriptors.length === 0) return []
  const view = new ExpressionView(exchange, exchange.facts ?? undefined)
  const found: Made[] = []
  for (const descriptor of descriptors) {
    const made = make(descriptor, view)
    if (made !== null) found.push(made)
    else if (log.allows('debug', 'limits'))
      log.write('debug', 'limits', 'descriptor without a value', [
        'entries',
        entryNamesOf(descriptor),
      ])
  }
  return found
}

function entryNamesOf({ entries }: RemoteDescriptor): string {
  return entries.map(({ key }) => key).join(',')
}

interface RemoteLimitCheck {
  readonly config: RemoteLimitConfig
  readonly counts: RemoteDescriptor['counts']
  readonly service: RateLimitService
  readonly descriptors: readonly RateLimitDescriptor[]
}

/** `pass` hears whether something was taken: a service that does not answer may be done without. */
async function checkRemoteLimit(
  exchange: Exchange,
  { config, counts, service, descriptors }: RemoteLimitCheck,
  pass: (taken: AdmissionTaken) => void = () => {},
): Promise<Reply | undefined> {
  const { domain, failureMode, timeout } = config
  const ms = timeout ?? RATE_LIMIT_TIMEOUT_MS
  // What was let pass as free may be charged when its answer tells of a cost; nobody waits for it then.
  const isLate = exchange.isAnswered
  const request = { domain, descriptors }
  const asked = isLate
    ? await service.query(request, ms).answer
    : await queryForExchange(exchange, service, request, ms)
  // The client may have left in the meantime, or was told that it took too long.
  if (exchange.isAnswered && !isLate) return undefined
  if (exchange.trace !== null) traceRemoteDecisions(exchange.trace, config, counts, asked)
  if (isRateLimitFailure(asked)) {
    service.decisions.failed++
    if (failureMode === 'failClosed') {
      exchange.enforcement.refusalReason = 'rate_limit_unavailable'
      return buildTextReply(500, 'rate limit failed')
    }
    pass('nothing')
    return undefined
  }
  service.decisions[asked.code === 'over' ? 'deny' : 'allow']++
  if (asked.code === 'over') return createServiceRefusal(exchange, asked)
  applyServiceHeaders(exchange, asked)
  pass('something')
  return undefined
}

/** What the service decided, descriptor by descriptor, for whoever watches. */
function traceRemoteDecisions(
  trace: Trace,
  { domain: rule, failureMode }: RemoteLimitConfig,
  counts: RemoteDescriptor['counts'],
  asked: RateLimitResult,
): void {
  const about = { type: 'rateLimit', rule, counts, bucket: null } as const
  if (isRateLimitFailure(asked)) {
    const decision = failureMode === 'failOpen' ? 'allow' : 'deny'
    const nothing = { limit: null, remaining: null, reset: null }
    trace.emit({ ...about, decision, ...nothing, error: asked.reason }, { severity: 'error' })
    return
  }
  for (const { code, limit, remaining, reset } of asked.statuses) {
    const decision = code === 'over' ? 'deny' : 'allow'
    const severity = code === 'over' ? 'error' : 'success'
    trace.emit({ ...about, decision, limit, remaining, reset, error: null }, { severity })
  }
}

// What a rate limit service has to say on heads: fields for the request, and for the answer whoever makes it.

/** Of those a service sends at a time. */
const MAX_HEADERS = 32
const MAX_SERVICE_HEADER_LENGTH = 8_192

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** No control characters but tabs: least of all the ends of lines. */
const VALUE = /^[\t -~\x80-\xff]*$/

/** Requests may pass, with what the service adds to them. */
function applyServiceHeaders(exchange: Exchange, answer: RateLimitResponse): void {
  recordTightestStatus(exchange, answer.statuses)
  replaceHeaders(exchange.request, selectSafeHeaders(answer.requestHeaders))
  rememberResponseHeaders(exchange, selectSafeHeaders(answer.responseHeaders))
}

/** The 429 of a service that says no, in its words if it has any. */
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

/** On the way out: what is left, unless the service has its own words for it. */
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
  let met: Allowance | null = null
  for (const { limit, remaining, reset } of statuses)
    if (limit !== null) met = pickTighterAllowance(met, { limit, remaining, reset: reset ?? 0 })
  return met
}

/** In lower case, without those that would break a head, frame it anew or speak for its connection. */
function selectSafeHeaders(headers: readonly RateLimitHeader[]): RateLimitHeader[] {
  return headers
    .slice(0, MAX_HEADERS)
    .map(([name, value]): RateLimitHeader => [
      name.toLowerCase(),
      value.replace(/^[\t ]+|[\t ]+$/g, ''),
    ])
    .filter(
      ([name, value]) => NAME.test(name) && !isForbiddenTrailer(name) && isLegalHeaderValue(value),
    )
}

function isLegalHeaderValue(value: string): boolean {
  return value.length <= MAX_SERVICE_HEADER_LENGTH && VALUE.test(value)
}

/** A later word on a field is the one that counts. */
function rememberResponseHeaders(exchange: Exchange, headers: readonly RateLimitHeader[]): void {
  if (headers.length === 0) return
  const names = new Set(headers.map(([name]) => name))
  const others = exchange.enforcement.rateLimitHeaders.filter(([name]) => !names.has(name))
  exchange.enforcement.rateLimitHeaders = [...others, ...headers]
}

/** In place of what was there: a client must not have a say in what the service tells. */
function replaceHeaders(fields: HeaderFields, headers: readonly RateLimitHeader[]): void {
  for (const [name] of headers) fields.remove(name)
  for (const [name, value] of headers) fields.add(name, value)
}

// What a rate limit service is asked about one exchange: descriptors of the configuration with their expressions evaluated.

/** Longer values are cut, not left out: nobody gets past a limit by the length of a name. */
const MAX_DESCRIPTOR_VALUE_LENGTH = 4_096

const MAX_UINT32 = 2 ** 32 - 1

/** A descriptor but for what is added to it. */
interface RateLimitCounter {
  readonly entries: readonly DescriptorEntry[]
  readonly limit: LimitOverride | null
  readonly cost: Expression | null
}

/** null when one of its expressions has no value: then it does not apply. */
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

/** For one that counts requests; without a cost the service adds 1. */
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

/** A whole number, at least 0; a part of one counts as one. null for all else. */
function evaluateCost(expression: Expression, view: ExpressionView): number | null {
  const text = expression.evaluateText(view)
  const cost = text === null || text === '' ? NaN : Number(text)
  return cost >= 0 ? Math.min(Math.ceil(cost), MAX_UINT32) : null
}

/** What headers say comes as the bytes they were sent in, one character each. Where these are UTF-8 they are read so. */
function decodeUtf8Value(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  return bytes.toString('latin1') === text && isUtf8(bytes) ? bytes.toString() : text
}

/** `{"unit": "minute", "requestsPerUnit": 100}`. */
function evaluateOverride(expression: Expression, view: ExpressionView): LimitOverride | null {
  const result = expression.evaluate(view)
  if ('fault' in result) return null
  const written: unknown = JSON.parse(celToJson(result.value))
  if (typeof written !== 'object' || written === null) return null
  const {
    unit,
    requestsPerUnit,
    requests_per_unit: amount = requestsPerUnit,
  } = written as {
    unit?: unknown
    requestsPerUnit?: unknown
    requests_per_unit?: unknown
  }
  const word = typeof unit === 'string' ? unit.toLowerCase() : ''
  if (!isRateLimitUnit(word) || typeof amount !== 'number' || !Number.isInteger(amount)) return null
  return amount >= 0 && amount <= MAX_UINT32 ? { amount, unit: word } : null
}

// LLM tokens that a rate limit service counts: what a request cost beyond what was taken from it at admission is told to the
// service when it is known. That call lands in the window of its own time, as the protocol knows no other.

/** Nobody waits for it. */
const SETTLE_TIMEOUT_MS = 5_000

/** Of each counter: as much as any request costs, so that a service with nothing left says no. */
const ADMISSION_HITS = 1

/** Services count in 32 bits. */
const MAX_HITS = 2 ** 32 - 1

type AdmissionTaken = 'something' | 'nothing'

interface RemoteChargeContext {
  readonly domain: string
  readonly counters: readonly RateLimitCounter[]
  readonly taken: AdmissionTaken
}

/** What has a cost of its own may count something else than tokens: it is just looked at. */
function createAdmissionDescriptor({
  entries,
  limit,
  cost,
}: RateLimitCounter): RateLimitDescriptor {
  return { entries, limit, hits: cost === null ? ADMISSION_HITS : 0 }
}

class RemoteCharge implements Charge {
  readonly #service: RateLimitService
  readonly #exchange: Exchange
  readonly #charged: RemoteChargeContext
  #state: 'open' | 'settled' = 'open'

  constructor(service: RateLimitService, exchange: Exchange, charged: RemoteChargeContext) {
    this.#service = service
    this.#exchange = exchange
    this.#charged = charged
  }

  /** Estimates are not told to the service. */
  raise(): void {}

  settle({ input, output }: TokenCost): void {
    if (this.#state === 'settled') return
    this.#state = 'settled'
    const total = Math.min(sanitizeTokenCount(input) + sanitizeTokenCount(output), MAX_HITS)
    // What reached no provider costs nothing; but the protocol has no way to give back what was taken.
    if (total === 0) return
    const { domain, counters } = this.#charged
    const descriptors = counters.flatMap((counter) => this.#rest(counter, total))
    // Whatever it answers, this request is over; the service itself tells of failures.
    if (descriptors.length > 0) this.#service.query({ domain, descriptors }, SETTLE_TIMEOUT_MS)
  }

  #rest({ entries, limit, cost }: RateLimitCounter, total: number): RateLimitDescriptor[] {
    const exchange = this.#exchange
    const hits =
      cost === null
        ? total - (this.#charged.taken === 'something' ? ADMISSION_HITS : 0)
        : evaluateCost(cost, new ExpressionView(exchange, exchange.facts ?? undefined))
    return hits === null || hits <= 0 ? [] : [{ entries, limit, hits }]
  }
}

// An exchange that waits for a rate limit service; if its client leaves, or is told that it took too long, so does the call.

async function queryForExchange(
  exchange: Exchange,
  service: RateLimitService,
  request: RateLimitRequest,
  ms: number,
): Promise<RateLimitResult> {
  const asking = service.query(request, ms)
  const outer = exchange.pendingCall
  const call: CancellableCall = {
    cancel() {
      asking.cancel()
      outer?.cancel()
    },
  }
  exchange.pendingCall = call
  const asked = await asking.answer
  if (exchange.pendingCall === call) exchange.pendingCall = outer
  return asked
}
