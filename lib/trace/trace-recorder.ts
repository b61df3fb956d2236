// The record of one request, step by step, for somebody who watches. Every other exchange has none, and pays a look at null.

import type { LimitConfig } from '../config/policy-types.ts'
import type { Exchange } from '../core/exchange.ts'
import type { LlmFacts } from '../core/facts.ts'
import type { ResponseHead } from '../core/head.ts'
import { tracePolicyName } from '../core/trace-events.ts'
import type {
  CallTrace,
  EventDetails,
  PolicyPhase,
  PolicyResult,
  RequestStage,
  ResponseStage,
  SentRequest,
  Trace,
  TraceEvent,
  TraceMessage,
  TraceScope,
  TraceSeverity,
} from '../core/trace-events.ts'
import type { Allowance, Tap } from '../core/types.ts'
import type { Expression } from '../expressions/compile.ts'
import { ExpressionView } from '../expressions/exchange-view.ts'
import type { AuthorizationRule } from '../expressions/rules.ts'
import { isSecretHeader, REDACTED, redactReason } from '../text/redaction.ts'
import type { SecretNames } from '../text/redaction.ts'
import { BodyCopy } from './trace-bodies.ts'
import { describeRequestState, redactHeaders, RedactionCache } from './trace-request.ts'
import type { TraceSettings } from './trace-request.ts'

/** Who watches; never slows the request down. */
export interface TraceReader {
  onEvent(event: TraceEvent): void
  /** Nothing comes after this. */
  onFinished(): void
}

export class TraceRecorder implements Trace, TracedCallOwner {
  readonly #exchange: Exchange
  readonly #reader: TraceReader
  readonly #terms: TraceSettings
  readonly #shown: RedactionCache
  readonly #steps: PolicyRecorder
  /** Calls to backends, the last one behind. Those under way have no end yet. */
  readonly #calls = new Set<TracedCall>()
  /** Where the client's own request went last. */
  #call: TracedCall | null = null
  /** Of the backend's answer, if that is what came last. */
  #raw: ResponseHead | null = null
  #answer: BodyCopy | null = null
  #state: 'open' | 'over' = 'open'

  constructor(exchange: Exchange, reader: TraceReader, terms: TraceSettings) {
    this.#exchange = exchange
    this.#reader = reader
    this.#terms = terms
    this.#shown = new RedactionCache(terms.secretNames)
    this.#steps = new PolicyRecorder(() => this.#requestState())
  }

  get maxBodyBytes(): number {
    return this.#terms.maxBodyBytes
  }

  get secretNames(): SecretNames {
    return this.#terms.secretNames
  }

  emit(message: TraceMessage, { severity = 'info', since = 0, scope }: EventDetails = {}): void {
    if (this.#state === 'over') return
    const eventEnd = this.#offset(performance.now())
    const eventStart = since === 0 ? null : this.#offset(since)
    const times = { eventStart, eventEnd, severity }
    this.#reader.onEvent(scope === undefined ? { ...times, message } : { ...times, scope, message })
  }

  start(): void {
    this.emit({ type: 'requestStarted' })
    this.snapshotRequest('initial request')
  }

  snapshotRequest(stage: RequestStage): void {
    const state = this.#requestState()
    this.emit({ type: 'requestSnapshot', stage, requestState: state })
  }

  snapshotResponse(stage: ResponseStage, head: ResponseHead, scope?: TraceScope): void {
    const state = this.#requestState()
    const proxy = { ...(state['proxy'] as object | undefined), ...this.#durations() }
    const response = { code: head.status, headers: redactHeaders(head, this.#shown) }
    const seen = { ...state, response, proxy }
    this.emit({ type: 'responseSnapshot', stage, requestState: seen }, { scope })
  }

  /** `effective` is shown as it stands: it holds no secret. */
  recordPolicies(phase: PolicyPhase, effective: object): void {
    const named = Object.entries(effective).map(([name, value]) => [tracePolicyName(name), value])
    const effectivePolicy = Object.fromEntries(named) as object
    this.emit({ type: 'policySelection', phase, effectivePolicy })
  }

  /** A policy is about to have its word on the request. */
  startPolicy(): void {
    this.#steps.begin()
  }

  /** From within a policy: why it has nothing to say. */
  skipPolicy(reason: string): void {
    this.#steps.reportedResult = { type: 'skip', reason }
  }

  /** From within a policy: what it found out. */
  notePolicy(details: string): void {
    this.#steps.reportedResult = { type: 'apply', details, snapshot: null }
  }

  /** What a policy did; `waited`: it had to ask somebody. */
  endPolicy(kind: string, status: number | null, how: 'at once' | 'waited'): void {
    const { startedAt } = this.#steps
    const severity = status === null || status < 400 ? 'info' : 'error'
    const result = this.#steps.end(status)
    this.#policy(kind, result, { severity, ...(how === 'waited' && { since: startedAt }) })
  }

  /** Answered by what is no policy of its own, and why. */
  recordRefusal(kind: string, status: number, reason: string): void {
    const details = `answered ${status}: ${reason}`
    this.#policy(kind, { type: 'apply', details, snapshot: null }, { severity: 'error' })
  }

  /** What a policy made of an answer. */
  recordResponsePolicy(kind: string, result: PolicyResult): void {
    this.#policy(kind, result, {})
  }

  #policy(kind: string, result: PolicyResult, more: EventDetails): void {
    this.emit({ type: 'policy', kind: tracePolicyName(kind), result }, more)
  }

  /** Each rule by itself, also those that the decision did not need. */
  recordRules(
    rules: readonly AuthorizationRule[],
    view: ExpressionView,
    result: 'allow' | 'deny',
  ): void {
    const results = rules.map(({ mode, expression }) => {
      const found = expression.evaluate(view)
      if ('fault' in found) this.recordExpressionFault(expression, found.fault)
      const name = String(this.#terms.formatter.format(expression))
      return { name, mode, matched: 'value' in found && found.value === true }
    })
    const severity = result === 'allow' ? 'success' : 'error'
    this.emit({ type: 'authorizationResult', rules: results, result }, { severity })
  }

  /** An expression that has no value for this exchange; `header` is what it was for, if that is one. */
  recordExpressionFault(expression: Expression, error: string, header = ''): void {
    const isHidden = isSecretHeader(header, this.secretNames)
    const expr = isHidden ? REDACTED : String(this.#terms.formatter.format(expression))
    this.emit({ type: 'cel', expr, result: { error } }, { severity: 'warn' })
  }

  /** What a limit decided, and what it has left. */
  recordLimit(config: LimitConfig, left: Allowance, decision: 'allow' | 'deny'): void {
    const { name: rule, counts } = config
    const bucket = this.#bucketOf(config)
    const severity = decision === 'allow' ? 'success' : 'error'
    const { limit, remaining, reset } = left
    const numbers = { limit, remaining, reset, error: null }
    this.emit({ type: 'rateLimit', rule, counts, bucket, decision, ...numbers }, { severity })
  }

  /** A limit that could not be asked: the request is refused. */
  recordLimitFailure({ name: rule, counts }: LimitConfig, error: string): void {
    const about = { type: 'rateLimit', rule, counts, bucket: null, decision: 'deny' } as const
    const nothing = { limit: null, remaining: null, reset: null }
    this.emit({ ...about, ...nothing, error }, { severity: 'error' })
  }

  /** What is asked of an LLM, as far as it was read. */
  recordLlmRequest(inputFormat: string, facts: LlmFacts): void {
    const requestModel = facts.requestModel ?? null
    const streaming = facts.streaming ?? null
    this.emit({ type: 'llmRequestDetected', inputFormat, requestModel, streaming })
  }

  /** Where a message of a client's goes. */
  recordMcpMessage(method: string, target: string): void {
    const session = this.#exchange.facts?.mcp?.sessionId?.slice(0, 8) ?? null
    this.emit({ type: 'mcpMessage', method, target, session })
  }

  recordRoute(selected: string | null, evaluated: ReadonlySet<string>): void {
    const evaluatedRoutes = [...evaluated].toSorted()
    const severity = selected === null ? 'error' : 'info'
    this.emit({ type: 'routeSelection', selectedRoute: selected, evaluatedRoutes }, { severity })
  }

  /** The request as it goes out to a backend, or to one of its targets. */
  startCall(target: string, sent: SentRequest, scope?: TraceScope): TracedCall {
    // Of another try, which is over.
    if (scope === undefined) this.#closeCall('given up')
    const state = this.#requestState(sent)
    this.emit({ type: 'requestSnapshot', stage: 'final request', requestState: state }, { scope })
    const call = new TracedCall(this, target, scope)
    this.#calls.add(call)
    if (scope === undefined) this.#call = call
    return call
  }

  recordRawResponse({ scope }: TracedCall, head: ResponseHead): void {
    if (scope === undefined) this.#raw = head
  }

  /** An answer, before the policies have their word on it. */
  recordReplyReady(head: ResponseHead): void {
    // A call that was cut short is known by what is answered instead.
    if (this.#call?.endedAt === 0) this.#closeCall(this.#exchange.error?.message ?? 'given up')
    if (head === this.#raw) this.snapshotResponse('backend response ready', head)
  }

  /** Keeps a copy of the answer's body as it passes, and shows it when that has ended. */
  tapResponseBody(): Tap {
    const done = (copy: BodyCopy): void => {
      const snapshot = copy.snapshot('response', this.secretNames.parameters)
      if (snapshot.bytes > 0) this.emit(snapshot)
    }
    this.#answer = new BodyCopy(this.maxBodyBytes, done, this.#exchange.startedAt)
    return this.#answer
  }

  finish(): void {
    const {
      response: { status },
      error,
      outcome,
    } = this.#exchange
    const reason = error?.message ?? (outcome === 'complete' ? null : outcome)
    // A request that ends well may leave some behind: what a notification is answered, or a target that is slow.
    for (const call of this.#calls)
      if (reason === null) call.close('the request was over first', 'info')
      else call.close(reason)
    this.#answer?.end(outcome)
    const code = status === 0 ? null : status
    const severity = severityOf(code, reason)
    this.emit({ type: 'requestFinished', status: code, error: reason }, { severity })
    this.#state = 'over'
    this.#reader.onFinished()
  }

  #closeCall(reason: string): void {
    this.#call?.close(reason)
    this.#call = null
    this.#raw = null
  }

  #requestState(sent: SentRequest = {}): Record<string, unknown> {
    return describeRequestState(this.#exchange, this.#shown, sent)
  }

  /** A key may be somebody's credential. */
  #bucketOf({ key }: LimitConfig): string | null {
    if (key === null) return null
    const value = key.evaluateKey(
      new ExpressionView(this.#exchange, this.#exchange.facts ?? undefined),
    )
    return value === null ? 'shared' : String(this.#terms.formatter.formatKeyValue(key, value))
  }

  /** Microseconds since the request was accepted. */
  #offset(at: number): number {
    return Math.max(0, Math.round((at - this.#exchange.startedAt) * 1000))
  }

  /** Of the call that was made last. */
  #durations(): object {
    const call = [...this.#calls].at(-1)
    if (call === undefined) return {}
    return {
      requestProcessingDuration: formatTraceSeconds(call.startedAt - this.#exchange.startedAt),
      upstreamDuration: formatTraceSeconds((call.endedAt || performance.now()) - call.startedAt),
    }
  }
}

function formatTraceSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(6)}s`
}

// One policy after the other on a request that is watched: what each had to say, and whether it changed the request.

class PolicyRecorder {
  /** When the one that is asked now was asked. */
  startedAt = 0
  /** Its own words, if it has any. */
  reportedResult: PolicyResult | null = null
  readonly #look: () => object
  /** The request as it was before, written out. */
  #before = ''

  constructor(look: () => object) {
    this.#look = look
  }

  begin(): void {
    this.#before = JSON.stringify(this.#look())
    this.startedAt = performance.now()
    this.reportedResult = null
  }

  /** `status` is that of its answer, or null. */
  end(status: number | null): PolicyResult {
    const { reportedResult } = this
    const snapshot = this.#changed()
    if (status !== null) return { type: 'apply', details: `answered ${status}`, snapshot }
    if (reportedResult === null) return { type: 'apply', details: 'passed', snapshot }
    return reportedResult.type === 'skip' ? reportedResult : { ...reportedResult, snapshot }
  }

  #changed(): object | null {
    const state = this.#look()
    return JSON.stringify(state) === this.#before ? null : state
  }
}

// One call to a backend as a trace tells it: what goes out, and what comes back or does not.

interface TracedCallOwner {
  readonly maxBodyBytes: number
  readonly secretNames: SecretNames
  emit(
    message: TraceMessage,
    more: { severity?: TraceSeverity; since?: number; scope?: TraceScope },
  ): void
  /** The head of an answer; without a scope it is the one that policies see next. */
  recordRawResponse(call: TracedCall, head: ResponseHead): void
  snapshotResponse(stage: ResponseStage, head: ResponseHead, scope?: TraceScope): void
}

class TracedCall implements CallTrace {
  readonly scope: TraceScope
  readonly startedAt = performance.now()
  /** When its answer or its failure came; 0 until then. */
  endedAt = 0
  readonly #owner: TracedCallOwner
  readonly #copy: BodyCopy

  constructor(owner: TracedCallOwner, target: string, scope: TraceScope) {
    this.scope = scope
    this.#owner = owner
    this.#copy = new BodyCopy(owner.maxBodyBytes, (copy) => {
      const snapshot = copy.snapshot('final request', owner.secretNames.parameters)
      if (snapshot.bytes > 0) owner.emit(snapshot, { scope })
    })
    owner.emit({ type: 'backendCallStart', target }, { scope })
  }

  /** Watches the request's body as it leaves. */
  get requestBodyTap(): Tap {
    return this.#copy
  }

  recordResponse(head: ResponseHead): void {
    if (this.endedAt > 0) return
    this.#result(head.status, null)
    this.#owner.recordRawResponse(this, head)
    this.#owner.snapshotResponse('raw response', head, this.scope)
  }

  /** For an answer that no policy has a word on. */
  recordReady(head: ResponseHead): void {
    this.#owner.snapshotResponse('backend response ready', head, this.scope)
  }

  /** For an answer that has no head. */
  recordStatus(status: number): void {
    if (this.endedAt === 0) this.#result(status, null)
  }

  recordFailure(message: string): void {
    if (this.endedAt === 0) this.#result(null, message)
  }

  /** Nothing more of it matters: what is still open ends here. */
  close(message: string, severity: TraceSeverity = 'error'): void {
    if (this.endedAt === 0) this.#result(null, message, severity)
    this.#copy.end('complete')
  }

  #result(
    status: number | null,
    error: string | null,
    severity: TraceSeverity = severityOf(status, error),
  ): void {
    const { startedAt, scope } = this
    this.endedAt = performance.now()
    // Behind an answer the rest of the body may still be sent; behind a failure nothing is.
    if (error !== null) this.#copy.end('complete')
    // It may be what a client or a target says.
    const shown = error === null ? null : redactReason(error)
    const message = { type: 'backendCallResult', status, error: shown } as const
    this.#owner.emit(message, { severity, since: startedAt, scope })
  }
}

// How an ending looks in a list of events.

function severityOf(status: number | null, error: string | null): TraceSeverity {
  if (error !== null || (status ?? 0) >= 500) return 'error'
  return (status ?? 0) >= 400 ? 'warn' : 'info'
}
