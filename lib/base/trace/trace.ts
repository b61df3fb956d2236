// The record of one request, step by step, for somebody who watches. Every other exchange has none, and pays a look at null.

import type { Expression } from '../cel/compile.ts'
import type { LlmFacts } from '../cel/facts.ts'
import { View } from '../cel/view.ts'
import type { LimitConfig } from '../config/limit-types.ts'
import type { Exchange } from '../exchange.ts'
import { isSecretHeader, REDACTED } from '../redact/names.ts'
import type { Hidden } from '../redact/names.ts'
import type { Allowance, Tap } from '../types.ts'
import type { ResponseHead } from '../wire/head.ts'
import { BodyCopy } from './body-copy.ts'
import { policyName } from './events.ts'
import type {
  EventDetails,
  Message,
  PolicyPhase,
  PolicyResult,
  RequestStage,
  ResponseStage,
  Scope,
  SentRequest,
  Trace,
  TraceEvent,
} from './events.ts'
import { PolicySteps } from './policy-steps.ts'
import { headersOf, requestState } from './request-state.ts'
import { severityOf } from './severity.ts'
import { ShownTexts } from './shown-texts.ts'
import type { TraceTerms } from './terms.ts'
import { TracedCall } from './traced-call.ts'
import type { CallOwner } from './traced-call.ts'
import type { Rule } from '../cel/rules.ts'

/** Who watches; never slows the request down. */
export interface TraceReader {
  event(event: TraceEvent): void
  /** Nothing comes after this. */
  finished(): void
}

export class TraceRecorder implements Trace, CallOwner {
  readonly #exchange: Exchange
  readonly #reader: TraceReader
  readonly #terms: TraceTerms
  readonly #shown: ShownTexts
  readonly #steps: PolicySteps
  /** Calls to backends, the last one behind. Those under way have no end yet. */
  readonly #calls = new Set<TracedCall>()
  /** Where the client's own request went last. */
  #call: TracedCall | null = null
  /** Of the backend's answer, if that is what came last. */
  #raw: ResponseHead | null = null
  #answer: BodyCopy | null = null
  #state: 'open' | 'over' = 'open'

  constructor(exchange: Exchange, reader: TraceReader, terms: TraceTerms) {
    this.#exchange = exchange
    this.#reader = reader
    this.#terms = terms
    this.#shown = new ShownTexts(terms.hidden)
    this.#steps = new PolicySteps(() => this.#requestState())
  }

  get maxBodyBytes(): number {
    return this.#terms.maxBodyBytes
  }

  get hidden(): Hidden {
    return this.#terms.hidden
  }

  emit(message: Message, { severity = 'info', since = 0, scope }: EventDetails = {}): void {
    if (this.#state === 'over') return
    const eventEnd = this.#offset(performance.now())
    const eventStart = since === 0 ? null : this.#offset(since)
    const times = { eventStart, eventEnd, severity }
    this.#reader.event(scope === undefined ? { ...times, message } : { ...times, scope, message })
  }

  started(): void {
    this.emit({ type: 'requestStarted' })
    this.request('initial request')
  }

  request(stage: RequestStage): void {
    const state = this.#requestState()
    this.emit({ type: 'requestSnapshot', stage, requestState: state })
  }

  response(stage: ResponseStage, head: ResponseHead, scope?: Scope): void {
    const state = this.#requestState()
    const proxy = { ...(state['proxy'] as object | undefined), ...this.#durations() }
    const response = { code: head.status, headers: headersOf(head, this.#shown) }
    const seen = { ...state, response, proxy }
    this.emit({ type: 'responseSnapshot', stage, requestState: seen }, { scope })
  }

  /** `effective` is shown as it stands: it holds no secret. */
  policies(phase: PolicyPhase, effective: object): void {
    const named = Object.entries(effective).map(([name, value]) => [policyName(name), value])
    const effectivePolicy = Object.fromEntries(named) as object
    this.emit({ type: 'policySelection', phase, effectivePolicy })
  }

  /** A policy is about to have its word on the request. */
  asks(): void {
    this.#steps.begin()
  }

  /** From within a policy: why it has nothing to say. */
  skip(reason: string): void {
    this.#steps.said = { type: 'skip', reason }
  }

  /** From within a policy: what it found out. */
  note(details: string): void {
    this.#steps.said = { type: 'apply', details, snapshot: null }
  }

  /** What a policy did; `waited`: it had to ask somebody. */
  asked(kind: string, status: number | null, how: 'at once' | 'waited'): void {
    const { since } = this.#steps
    const severity = status === null || status < 400 ? 'info' : 'error'
    const result = this.#steps.end(status)
    this.#policy(kind, result, { severity, ...(how === 'waited' && { since }) })
  }

  /** Answered by what is no policy of its own, and why. */
  refused(kind: string, status: number, reason: string): void {
    const details = `answered ${status}: ${reason}`
    this.#policy(kind, { type: 'apply', details, snapshot: null }, { severity: 'error' })
  }

  /** What a policy made of an answer. */
  answering(kind: string, result: PolicyResult): void {
    this.#policy(kind, result, {})
  }

  #policy(kind: string, result: PolicyResult, more: EventDetails): void {
    this.emit({ type: 'policy', kind: policyName(kind), result }, more)
  }

  /** Each rule by itself, also those that the decision did not need. */
  rules(rules: readonly Rule[], view: View, result: 'allow' | 'deny'): void {
    const results = rules.map(({ mode, expression }) => {
      const found = expression.evaluate(view)
      if ('fault' in found) this.fault(expression, found.fault)
      const name = String(this.#terms.showing.show(expression))
      return { name, mode, matched: 'value' in found && found.value === true }
    })
    const severity = result === 'allow' ? 'success' : 'error'
    this.emit({ type: 'authorizationResult', rules: results, result }, { severity })
  }

  /** An expression that has no value for this exchange; `header` is what it was for, if that is one. */
  fault(expression: Expression, error: string, header = ''): void {
    const isHidden = isSecretHeader(header, this.hidden)
    const expr = isHidden ? REDACTED : String(this.#terms.showing.show(expression))
    this.emit({ type: 'cel', expr, result: { error } }, { severity: 'warn' })
  }

  /** What a limit decided, and what it has left. */
  limit(config: LimitConfig, left: Allowance, decision: 'allow' | 'deny'): void {
    const { name: rule, counts } = config
    const bucket = this.#bucketOf(config)
    const severity = decision === 'allow' ? 'success' : 'error'
    const { limit, remaining, reset } = left
    const numbers = { limit, remaining, reset, error: null }
    this.emit({ type: 'rateLimit', rule, counts, bucket, decision, ...numbers }, { severity })
  }

  /** A limit that could not be asked: the request is refused. */
  limitFailed({ name: rule, counts }: LimitConfig, error: string): void {
    const about = { type: 'rateLimit', rule, counts, bucket: null, decision: 'deny' } as const
    const nothing = { limit: null, remaining: null, reset: null }
    this.emit({ ...about, ...nothing, error }, { severity: 'error' })
  }

  /** What is asked of an LLM, as far as it was read. */
  llm(inputFormat: string, facts: LlmFacts): void {
    const requestModel = facts.requestModel ?? null
    const streaming = facts.streaming ?? null
    this.emit({ type: 'llmRequestDetected', inputFormat, requestModel, streaming })
  }

  /** Where a message of a client's goes. */
  mcp(method: string, target: string): void {
    const session = this.#exchange.facts?.mcp?.sessionId?.slice(0, 8) ?? null
    this.emit({ type: 'mcpMessage', method, target, session })
  }

  route(selected: string | null, evaluated: ReadonlySet<string>): void {
    const evaluatedRoutes = [...evaluated].toSorted()
    const severity = selected === null ? 'error' : 'info'
    this.emit({ type: 'routeSelection', selectedRoute: selected, evaluatedRoutes }, { severity })
  }

  /** The request as it goes out to a backend, or to one of its targets. */
  calling(target: string, sent: SentRequest, scope?: Scope): TracedCall {
    // Of another try, which is over.
    if (scope === undefined) this.#closeCall('given up')
    const state = this.#requestState(sent)
    this.emit({ type: 'requestSnapshot', stage: 'final request', requestState: state }, { scope })
    const call = new TracedCall(this, target, scope)
    this.#calls.add(call)
    if (scope === undefined) this.#call = call
    return call
  }

  answered({ scope }: TracedCall, head: ResponseHead): void {
    if (scope === undefined) this.#raw = head
  }

  /** An answer, before the policies have their word on it. */
  ready(head: ResponseHead): void {
    // A call that was cut short is known by what is answered instead.
    if (this.#call?.until === 0) this.#closeCall(this.#exchange.error?.message ?? 'given up')
    if (head === this.#raw) this.response('backend response ready', head)
  }

  /** Keeps a copy of the answer's body as it passes, and shows it when that has ended. */
  body(): Tap {
    const done = (copy: BodyCopy): void => {
      const snapshot = copy.snapshot('response', this.hidden.parameters)
      if (snapshot.bytes > 0) this.emit(snapshot)
    }
    this.#answer = new BodyCopy(this.maxBodyBytes, done, this.#exchange.started)
    return this.#answer
  }

  finished(): void {
    const { status, error, outcome } = this.#exchange
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
    this.#reader.finished()
  }

  #closeCall(reason: string): void {
    this.#call?.close(reason)
    this.#call = null
    this.#raw = null
  }

  #requestState(sent: SentRequest = {}): Record<string, unknown> {
    return requestState(this.#exchange, this.#shown, sent)
  }

  /** A key may be somebody's credential. */
  #bucketOf({ key }: LimitConfig): string | null {
    if (key === null) return null
    const value = key.keyOf(new View(this.#exchange, this.#exchange.facts ?? undefined))
    return value === null ? 'shared' : String(this.#terms.showing.valueOf(key, value))
  }

  /** Microseconds since the request was accepted. */
  #offset(at: number): number {
    return Math.max(0, Math.round((at - this.#exchange.started) * 1000))
  }

  /** Of the call that was made last. */
  #durations(): object {
    const call = [...this.#calls].at(-1)
    if (call === undefined) return {}
    return {
      requestProcessingDuration: seconds(call.since - this.#exchange.started),
      upstreamDuration: seconds((call.until || performance.now()) - call.since),
    }
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(6)}s`
}
