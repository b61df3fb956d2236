// The record of one request, step by step, for somebody who watches. Every other exchange has none, and pays a look at null.

import type { Exchange } from '../exchange.ts'
import type { GatewayError } from '../errors.ts'
import type { LlmFacts } from '../cel/facts.ts'
import type { View } from '../cel/view.ts'
import type { Rule } from '../config/auth-types.ts'
import type { Allowance, Tap } from '../types.ts'
import type { ResponseHead } from '../wire/head.ts'
import { BodyCopy } from './body-copy.ts'
import type {
  BodyStage,
  Message,
  PolicyPhase,
  PolicyResult,
  RequestStage,
  ResponseStage,
  Severity,
  TraceEvent,
} from './events.ts'
import { headersOf, requestState } from './request-state.ts'

/** Who watches; never slows the request down. */
export interface TraceReader {
  event(event: TraceEvent): void
  /** Nothing comes after this. */
  finished(): void
}

export interface TraceOptions {
  /** Header names, in lower case, whose values are not shown. */
  readonly sensitive: ReadonlySet<string>
  /** Bytes of a body that are kept. */
  readonly maxBodyBytes: number
}

export class Trace {
  readonly #exchange: Exchange
  readonly #reader: TraceReader
  readonly #options: TraceOptions
  /** On the clock of `performance.now()`; 0 while no backend was asked. */
  #askedAt = 0
  #answeredAt = 0
  /** Whose it is that goes to the client. */
  #answer: 'none' | 'backend' = 'none'
  #state: 'open' | 'over' = 'open'

  constructor(exchange: Exchange, reader: TraceReader, options: TraceOptions) {
    this.#exchange = exchange
    this.#reader = reader
    this.#options = options
  }

  /** `since` makes it an event with a length; on the clock of `performance.now()`. */
  emit(message: Message, severity: Severity = 'info', since = 0): void {
    if (this.#state === 'over') return
    const eventEnd = this.#offset(performance.now())
    const eventStart = since === 0 ? null : this.#offset(since)
    this.#reader.event({ eventStart, eventEnd, severity, message })
  }

  started(): void {
    this.emit({ type: 'requestStarted' })
    this.request('initial request')
  }

  request(stage: RequestStage): void {
    const state = requestState(this.#exchange, this.#options.sensitive)
    this.emit({ type: 'requestSnapshot', stage, requestState: state })
  }

  response(stage: ResponseStage, head: ResponseHead): void {
    const { sensitive } = this.#options
    const state = requestState(this.#exchange, sensitive)
    const proxy = { ...(state['proxy'] as object | undefined), ...this.#durations() }
    const response = { code: head.status, headers: headersOf(head, sensitive) }
    this.emit({ type: 'responseSnapshot', stage, requestState: { ...state, response, proxy } })
  }

  /** `effective` is shown as it stands: it holds no secret. */
  policies(phase: PolicyPhase, effective: object): void {
    this.emit({ type: 'policySelection', phase, effectivePolicy: effective })
  }

  policy(kind: string, result: PolicyResult, severity: Severity = 'info'): void {
    this.emit({ type: 'policy', kind, result }, severity)
  }

  /** Each rule by itself, also those that the decision did not need. */
  rules(rules: readonly Rule[], view: View, result: 'allow' | 'deny'): void {
    const results = rules.map(({ mode, expression }) => {
      const found = expression.evaluate(view)
      const { source: expr } = expression
      if ('fault' in found) this.emit({ type: 'cel', expr, result: { error: found.fault } }, 'warn')
      return { name: expr, mode, matched: 'value' in found && found.value === true }
    })
    const severity = result === 'allow' ? 'success' : 'error'
    this.emit({ type: 'authorizationResult', rules: results, result }, severity)
  }

  /** What a limit decided, and what it has left. */
  limit(rule: string, { limit, remaining }: Allowance, decision: 'allow' | 'deny'): void {
    const severity = decision === 'allow' ? 'success' : 'error'
    this.emit({ type: 'rateLimit', rule, decision, limit, remaining }, severity)
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
    this.emit({ type: 'routeSelection', selectedRoute: selected, evaluatedRoutes }, severity)
  }

  /** The request as it goes out to a backend. */
  asking(target: string): void {
    this.request('final request')
    this.#askedAt = performance.now()
    this.emit({ type: 'backendCallStart', target })
  }

  answered(head: ResponseHead): void {
    this.#answeredAt = performance.now()
    this.#answer = 'backend'
    this.#result(head.status, null)
    this.response('raw response', head)
  }

  /** A backend's answer, before the policies have their word on it. */
  ready(head: ResponseHead): void {
    if (this.#answer === 'backend') this.response('backend response ready', head)
  }

  failed({ message }: GatewayError): void {
    this.#answeredAt = performance.now()
    this.#answer = 'none'
    this.#result(null, message)
  }

  /** Keeps a copy of what passes, and shows it when that has ended. */
  body(stage: BodyStage): Tap {
    return new BodyCopy(this.#options.maxBodyBytes, (copy) => {
      const snapshot = copy.snapshot(stage)
      if (snapshot.bytes > 0) this.emit(snapshot)
    })
  }

  finished(): void {
    const { status, error } = this.#exchange
    const message = error?.message ?? null
    const code = status === 0 ? null : status
    this.emit({ type: 'requestFinished', status: code, error: message }, severityOf(code, message))
    this.#state = 'over'
    this.#reader.finished()
  }

  #result(status: number | null, error: string | null): void {
    const message = { type: 'backendCallResult', status, error } as const
    this.emit(message, severityOf(status, error), this.#askedAt)
  }

  /** Microseconds since the request was accepted. */
  #offset(at: number): number {
    return Math.max(0, Math.round((at - this.#exchange.started) * 1000))
  }

  #durations(): object {
    if (this.#askedAt === 0) return {}
    return {
      requestProcessingDuration: seconds(this.#askedAt - this.#exchange.started),
      upstreamDuration: seconds((this.#answeredAt || performance.now()) - this.#askedAt),
    }
  }
}

function severityOf(status: number | null, error: string | null): Severity {
  if (error !== null || (status ?? 0) >= 500) return 'error'
  return (status ?? 0) >= 400 ? 'warn' : 'info'
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(6)}s`
}
