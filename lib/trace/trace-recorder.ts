// Records one request, step by step, for a watcher. Every other exchange has no recorder, and pays one null check.

import type { LimitConfig } from '../config/policy-types.ts'
import type { Exchange } from '../core/exchange.ts'
import type { LlmFacts } from '../core/facts.ts'
import { ResponseHead } from '../core/head.ts'
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
} from '../core/trace-events.ts'
import type { Allowance, Tap } from '../core/types.ts'
import type { Expression } from '../expressions/compile.ts'
import { ExpressionView } from '../expressions/exchange-view.ts'
import { holdsRule } from '../expressions/rules.ts'
import type { AuthorizationRule } from '../expressions/rules.ts'
import { KnownSecrets } from '../text/known-secrets.ts'
import { isSecretHeader, REDACTED, redactReason } from '../text/redaction.ts'
import type { SecretNames } from '../text/redaction.ts'
import { GIVEN_UP } from '../trace-view/trace-event.ts'
import { BodyCopy } from './trace-bodies.ts'
import type { BodyRedaction } from './trace-bodies.ts'
import { AddedCredentials, describeRequestState, RedactionCache } from './trace-request.ts'
import type { TraceSettings } from './trace-request.ts'

/** Receives the events of a trace; never slows the request down. */
export interface TraceReader {
  onEvent(event: TraceEvent): void
  /** No event follows. */
  onFinished(): void
}

export class TraceRecorder implements Trace, TracedCallOwner {
  readonly #exchange: Exchange
  readonly #reader: TraceReader
  readonly #settings: TraceSettings
  readonly #redaction: RedactionCache
  /** Secrets that the gateway added to the request: a backend may return them. */
  readonly #secrets = new KnownSecrets()
  readonly #credentials: AddedCredentials
  readonly #policies: PolicyRecorder
  /** Calls to backends in their order; those in progress have no end yet. */
  readonly #calls = new Set<TracedCall>()
  /** The latest call for the client's own request. */
  #clientCall: TracedCall | null = null
  /** The head of the backend's response, until another call starts. */
  #rawHead: ResponseHead | null = null
  #responseCopy: BodyCopy | null = null
  #state: 'open' | 'finished' = 'open'

  constructor(exchange: Exchange, reader: TraceReader, settings: TraceSettings) {
    this.#exchange = exchange
    this.#reader = reader
    this.#settings = settings
    this.#redaction = new RedactionCache(settings.secretNames, this.#secrets)
    this.#credentials = new AddedCredentials(exchange.request, this.#redaction, this.#secrets)
    this.#policies = new PolicyRecorder(() => this.#requestState())
  }

  get maxBodyBytes(): number {
    return this.#settings.maxBodyBytes
  }

  get secretNames(): SecretNames {
    return this.#settings.secretNames
  }

  addSecret(text: string): void {
    this.#secrets.add(text)
  }

  redactionOf(coding: string | undefined): BodyRedaction {
    const { redactBodies: members } = this.#settings
    const name = coding?.trim().toLowerCase() ?? ''
    return { members, secrets: this.#secrets, coding: name === 'identity' ? '' : name }
  }

  redactError(text: string): string {
    // Before the text is shortened: the beginning of a secret would not be found.
    return redactReason(this.#secrets.redactText(text))
  }

  emit(message: TraceMessage, { severity = 'info', since = 0, scope }: EventDetails = {}): void {
    if (this.#state === 'finished') return
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
    const proxy = { ...(state['proxy'] as object | undefined), ...this.#durations(scope) }
    const response = { code: head.status, headers: this.#redaction.redactHeaders(head) }
    const shownState = { ...state, response, proxy }
    this.emit({ type: 'responseSnapshot', stage, requestState: shownState }, { scope })
  }

  /** `effective` is shown unchanged: it contains no secret. */
  recordPolicies(phase: PolicyPhase, effective: object): void {
    const named = Object.entries(effective).map(([name, value]) => [tracePolicyName(name), value])
    const effectivePolicy = Object.fromEntries(named) as object
    this.emit({ type: 'policySelection', phase, effectivePolicy })
  }

  startPolicy(): void {
    this.#policies.begin()
  }

  skipPolicy(reason: string): void {
    this.#policies.reportedResult = { type: 'skip', reason }
  }

  notePolicy(details: string): void {
    this.#policies.reportedResult = { type: 'apply', details, snapshot: null }
  }

  endPolicy(kind: string, status: number | null, how: 'at once' | 'waited'): void {
    const { startedAt } = this.#policies
    const severity = status === null || status < 400 ? 'info' : 'error'
    const result = this.#policies.end(status)
    this.#policy(kind, result, { severity, ...(how === 'waited' && { since: startedAt }) })
  }

  recordRefusal(kind: string, status: number, reason: string): void {
    const details = `answered ${status}: ${reason}`
    this.#policy(kind, { type: 'apply', details, snapshot: null }, { severity: 'error' })
  }

  recordResponsePolicy(kind: string, result: PolicyResult): void {
    this.#policy(kind, result, {})
  }

  #policy(kind: string, result: PolicyResult, more: EventDetails): void {
    this.emit({ type: 'policy', kind: tracePolicyName(kind), result }, more)
  }

  /** Evaluates each rule, including those that the decision did not need. */
  recordRules(
    rules: readonly AuthorizationRule[],
    view: ExpressionView,
    result: 'allow' | 'deny',
  ): void {
    const results = rules.map((rule) => {
      const { mode, expression } = rule
      const found = expression.evaluate(view)
      if ('fault' in found) this.recordExpressionFault(expression, found.fault)
      const name = String(this.#settings.formatter.format(expression))
      return { name, mode, matched: holdsRule(rule, found) }
    })
    const severity = result === 'allow' ? 'success' : 'error'
    this.emit({ type: 'authorizationResult', rules: results, result }, { severity })
  }

  /** `header` is the header that the expression computes, if any: a secret one is redacted. */
  recordExpressionFault(expression: Expression, error: string, header = ''): void {
    const isHidden = isSecretHeader(header, this.secretNames)
    const expr = isHidden ? REDACTED : String(this.#settings.formatter.format(expression))
    this.emit({ type: 'cel', expr, result: { error } }, { severity: 'warn' })
  }

  recordLimit(config: LimitConfig, left: Allowance, decision: 'allow' | 'deny'): void {
    const { name: rule, counts } = config
    const bucket = this.#bucketOf(config)
    const severity = decision === 'allow' ? 'success' : 'error'
    const { limit, remaining, reset } = left
    const numbers = { limit, remaining, reset, error: null }
    this.emit({ type: 'rateLimit', rule, counts, bucket, decision, ...numbers }, { severity })
  }

  recordLimitFailure({ name: rule, counts }: LimitConfig, error: string): void {
    const event = { type: 'rateLimit', rule, counts, bucket: null, decision: 'deny' } as const
    const noNumbers = { limit: null, remaining: null, reset: null }
    this.emit({ ...event, ...noNumbers, error }, { severity: 'error' })
  }

  recordLlmRequest(inputFormat: string, facts: LlmFacts): void {
    const requestModel = facts.requestModel ?? null
    const streaming = facts.streaming ?? null
    this.emit({ type: 'llmRequestDetected', inputFormat, requestModel, streaming })
  }

  recordMcpMessage(method: string, target: string): void {
    const session = this.#exchange.facts?.mcp?.sessionId?.slice(0, 8) ?? null
    this.emit({ type: 'mcpMessage', method, target, session })
  }

  recordRoute(selected: string | null, evaluated: ReadonlySet<string>): void {
    const evaluatedRoutes = [...evaluated].toSorted()
    this.emit({ type: 'routeSelection', selectedRoute: selected, evaluatedRoutes })
  }

  startCall(target: string, sent: SentRequest, scope?: TraceScope): TracedCall {
    // The call of a previous attempt has ended.
    if (scope === undefined) this.#closeCall('abandoned')
    const request = sent.request ?? this.#exchange.request
    this.#credentials.find(request)
    const state = this.#requestState(sent)
    this.emit({ type: 'requestSnapshot', stage: 'final request', requestState: state }, { scope })
    const call = new TracedCall(this, target, scope, request.get('content-encoding'))
    this.#calls.add(call)
    if (scope === undefined) this.#clientCall = call
    return call
  }

  recordRawResponse({ scope }: TracedCall, head: ResponseHead): void {
    if (scope === undefined) this.#rawHead = head
  }

  recordReplyReady(head: ResponseHead): void {
    // A call that was cancelled has the error of the reply that replaces it.
    if (this.#clientCall?.endedAt === 0)
      this.#closeCall(this.#exchange.error?.message ?? 'abandoned')
    if (head === this.#rawHead) this.snapshotResponse('backend response ready', head)
  }

  /** Copies the response body as it passes, and emits the copy when the body has ended. */
  tapResponseBody(): Tap {
    const done = (copy: BodyCopy): void => {
      const coding = this.#exchange.response.reply?.head.get('content-encoding')
      const snapshot = copy.snapshot('response', this.redactionOf(coding))
      if (snapshot.bytes > 0) this.emit(snapshot)
    }
    this.#responseCopy = new BodyCopy(this.maxBodyBytes, done, this.#exchange.startedAt)
    return this.#responseCopy
  }

  finish(): void {
    const {
      response: { status },
      error,
      outcome,
    } = this.#exchange
    const reason = error?.message ?? (outcome === 'complete' ? null : outcome)
    // A request that ends well may leave calls open: the response to a notification, or a slow target.
    for (const call of this.#calls) call.close(reason ?? GIVEN_UP)
    this.#responseCopy?.end(outcome)
    const code = status === 0 ? null : status
    const shown = reason === null ? null : this.redactError(reason)
    this.emit({ type: 'requestFinished', status: code, error: shown })
    this.#state = 'finished'
    this.#reader.onFinished()
  }

  #closeCall(reason: string): void {
    this.#clientCall?.close(reason)
    this.#clientCall = null
    this.#rawHead = null
  }

  #requestState(sent: SentRequest = {}): Record<string, unknown> {
    return describeRequestState(this.#exchange, this.#redaction, sent)
  }

  /** The value of a key may be a credential. */
  #bucketOf({ key }: LimitConfig): string | null {
    if (key === null) return null
    const value = key.evaluateKey(
      new ExpressionView(this.#exchange, this.#exchange.facts ?? undefined),
    )
    return value === null ? 'shared' : String(this.#settings.formatter.formatKeyValue(key, value))
  }

  /** Microseconds since the request was accepted. */
  #offset(at: number): number {
    return Math.max(0, Math.round((at - this.#exchange.startedAt) * 1000))
  }

  /** The durations of the latest call of the target. */
  #durations(scope: TraceScope): object {
    const call = [...this.#calls].findLast(
      (one) => scope === undefined || one.scope?.[0] === scope[0],
    )
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

/** Records one policy after another: what it reported, and whether it changed the request. */
class PolicyRecorder {
  /** When the current policy started. */
  startedAt = 0
  /** What the policy reported itself, if anything. */
  reportedResult: PolicyResult | null = null
  readonly #describeRequest: () => object
  /** The serialised request before the policy. */
  #before = ''

  constructor(describeRequest: () => object) {
    this.#describeRequest = describeRequest
  }

  begin(): void {
    this.#before = JSON.stringify(this.#describeRequest())
    this.startedAt = performance.now()
    this.reportedResult = null
  }

  /** `status` is that of its reply, or null. */
  end(status: number | null): PolicyResult {
    const { reportedResult } = this
    const snapshot = this.#changedState()
    if (status !== null) return { type: 'apply', details: `answered ${status}`, snapshot }
    if (reportedResult === null) return { type: 'apply', details: 'passed', snapshot }
    return reportedResult.type === 'skip' ? reportedResult : { ...reportedResult, snapshot }
  }

  #changedState(): object | null {
    const state = this.#describeRequest()
    return JSON.stringify(state) === this.#before ? null : state
  }
}

interface TracedCallOwner {
  readonly maxBodyBytes: number
  /** `coding` is the Content-Encoding of the body. */
  redactionOf(coding: string | undefined): BodyRedaction
  redactError(text: string): string
  emit(message: TraceMessage, more: { since?: number; scope?: TraceScope }): void
  /** Records the head of a response; without a scope, policies see it next. */
  recordRawResponse(call: TracedCall, head: ResponseHead): void
  snapshotResponse(stage: ResponseStage, head: ResponseHead, scope?: TraceScope): void
}

/** One call to a backend in a trace: what is sent, and the response or the failure. */
class TracedCall implements CallTrace {
  readonly scope: TraceScope
  readonly startedAt = performance.now()
  /** When the response or the failure arrived; 0 until then. */
  endedAt = 0
  readonly #owner: TracedCallOwner
  readonly #copy: BodyCopy

  constructor(owner: TracedCallOwner, target: string, scope: TraceScope, coding?: string) {
    this.scope = scope
    this.#owner = owner
    this.#copy = new BodyCopy(owner.maxBodyBytes, (copy) => {
      const snapshot = copy.snapshot('final request', owner.redactionOf(coding))
      if (snapshot.bytes > 0) owner.emit(snapshot, { scope })
    })
    owner.emit({ type: 'backendCallStart', target }, { scope })
  }

  /** Copies the request body as it is sent. */
  get requestBodyTap(): Tap {
    return this.#copy
  }

  recordResponse(head: ResponseHead): void {
    if (this.endedAt > 0) return
    this.#result(head.status, null)
    this.#owner.recordRawResponse(this, head)
    this.#owner.snapshotResponse('raw response', head, this.scope)
  }

  /** For a response that no policy changes. */
  recordReady(head: ResponseHead): void {
    this.#owner.snapshotResponse('backend response ready', head, this.scope)
  }

  /** For a response without a head. */
  recordStatus(status: number): void {
    if (this.endedAt > 0) return
    const head = new ResponseHead('', [], 0)
    head.status = status
    this.recordResponse(head)
    this.recordReady(head)
  }

  recordFailure(message: string): void {
    if (this.endedAt === 0) this.#result(null, message)
  }

  /** Closes the call: whatever is still open ends here. */
  close(message: string): void {
    if (this.endedAt === 0) this.#result(null, message)
    this.#copy.end('complete')
  }

  #result(status: number | null, error: string | null): void {
    const { startedAt, scope } = this
    this.endedAt = performance.now()
    // After a response the rest of the body may still be sent; after a failure nothing is.
    if (error !== null) this.#copy.end('complete')
    // The text may come from a client or a target.
    const redacted = error === null ? null : this.#owner.redactError(error)
    const message = { type: 'backendCallResult', status, error: redacted } as const
    this.#owner.emit(message, { since: startedAt, scope })
  }
}
