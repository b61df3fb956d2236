// The record of one request, step by step, for somebody who watches. Every other exchange has none, and pays a look at null.

import type { Exchange } from '../exchange.ts'
import type { GatewayError } from '../errors.ts'
import type { Tap } from '../types.ts'
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
    const requestState_ = { ...state, response, proxy }
    this.emit({ type: 'responseSnapshot', stage, requestState: requestState_ })
  }

  /** `effective` is shown as it stands: it holds no secret. */
  policies(phase: PolicyPhase, effective: object): void {
    this.emit({ type: 'policySelection', phase, effectivePolicy: effective })
  }

  policy(kind: string, result: PolicyResult, severity: Severity = 'info'): void {
    this.emit({ type: 'policy', kind, result }, severity)
  }

  route(selected: string | null, evaluated: readonly string[]): void {
    const evaluatedRoutes = [...new Set(evaluated)].toSorted()
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
    this.#result(head.status, null)
    this.response('raw response', head)
  }

  failed({ message }: GatewayError): void {
    this.#answeredAt = performance.now()
    this.#result(null, message)
  }

  /** Keeps a copy of what passes, and shows it when that has ended. */
  body(stage: BodyStage): Tap {
    return new BodyCopy(this.#options.maxBodyBytes, (copy) => {
      if (copy.bytes > 0) this.emit({ type: 'bodySnapshot', stage, ...copy })
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
