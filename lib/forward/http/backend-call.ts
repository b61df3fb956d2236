// One call to an HTTP backend, from the queue of the pool to the response head, and the errors of such calls. The attempt gets
// exactly one result, however the connection ends.

import { isOutOfDescriptors, OUT_OF_DESCRIPTORS_MESSAGE } from '../../core/descriptors.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { RequestHead } from '../../core/head.ts'
import type { Attempt, Body, CancellableCall, ExchangeClient, Reply } from '../../core/types.ts'
import { isGrpcType } from '../../http/header-fields.ts'
import { ReplayBody } from '../replay-body.ts'

/** The part of an exchange that a call needs; requests that the gateway makes itself have only this part. */
export interface HttpCallInput {
  readonly request: RequestHead
  readonly client: Pick<ExchangeClient, 'sendInterim'>
}

/** RFC 9110 9.2.2: to execute such a request twice has the same effect as to execute it once. */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PUT',
  'DELETE',
])

/** The queue, dial, connection or stream that has a call now, and can abort it. */
export interface CallHolder {
  abort(call: HttpCall): void
}

export class HttpCall implements CancellableCall {
  readonly exchange: HttpCallInput
  readonly attempt: Attempt
  /** The Host field for the backend; null keeps the one of the client. */
  readonly host: string | null
  body: Body
  /** Milliseconds from the end of the request to the response head; 0 for no bound. */
  headTimeout = 0
  /** Set when this call created it; this call then drops its copy. */
  #replayBody: ReplayBody | null = null
  #holder: CallHolder | null = null
  #timer: NodeJS.Timeout | null = null
  #state: 'open' | 'over' = 'open'
  /** `possible`: the call can be sent once more; `used`: it was. */
  #resend: 'impossible' | 'possible' | 'used' = 'impossible'

  constructor(exchange: HttpCallInput, attempt: Attempt, host: string | null) {
    this.exchange = exchange
    this.attempt = attempt
    this.host = host
    this.body = attempt.body
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** Bounds the time to the response head (`timeout.backendRequestTimeout` of the route). */
  setDeadline(ms: number): void {
    this.#timer = setTimeout(() => {
      const holder = this.#holder
      this.failed(createBackendTimeout())
      holder?.abort(this)
    }, ms)
  }

  setHolder(holder: CallHolder): void {
    this.#holder = holder
  }

  /** Whether the request may be sent again after a backend that may have executed it closed the connection. */
  get isIdempotent(): boolean {
    return IDEMPOTENT_METHODS.has(this.exchange.request.method)
  }

  /** gRPC exists only over HTTP/2. */
  get isGrpc(): boolean {
    const { request } = this.exchange
    return request.version === 'HTTP/2' && isGrpcType(request.get('content-type'))
  }

  /** Keeps a bounded copy of the body, for a session that may refuse the stream. */
  keepForResend(): void {
    if (this.#resend !== 'impossible') return
    this.#resend = 'possible'
    if (this.body.framing === 'none' || this.body instanceof ReplayBody) return
    this.#replayBody = new ReplayBody(this.body)
    this.body = this.#replayBody
  }

  /** Prepares a refused call to be sent from its first byte; true at most once, and false where it cannot. */
  rewind(): boolean {
    const { body } = this
    if (this.isOver || this.#resend !== 'possible') return false
    if (body instanceof ReplayBody) {
      if (!body.isReplayable) return false
      body.release()
    }
    this.#resend = 'used'
    return true
  }

  cancel(): void {
    if (!this.#finish()) return
    this.#holder?.abort(this)
  }

  answered(reply: Reply): void {
    if (this.#finish()) this.attempt.answer(reply)
    else reply.body.cancel()
  }

  failed(error: GatewayError): void {
    if (this.#finish()) this.attempt.fail(error)
  }

  #finish(): boolean {
    if (this.#state === 'over') return false
    this.#state = 'over'
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#replayBody?.forget()
    return true
  }
}

/** Texts for the codes of socket errors; they name no internal address. */
const ERROR_TEXTS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name look-up failed',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'timed out',
  ENOENT: 'no such socket',
  EACCES: 'permission denied',
  EMFILE: OUT_OF_DESCRIPTORS_MESSAGE,
  ENFILE: OUT_OF_DESCRIPTORS_MESSAGE,
}

/** A text, the error of the socket, or null for a connection that closed without an error. */
export type FaultCause = string | Error | null

export const CONNECT_TIMED_OUT = 'connect timed out'

export function createBackendFault(code: ErrorCode, fault: FaultCause): GatewayError {
  const cause = fault instanceof Error ? fault : undefined
  const isLocal = cause !== undefined && isOutOfDescriptors(cause)
  return new GatewayError(
    isLocal ? 'OUT_OF_DESCRIPTORS' : code,
    `upstream call failed: ${describeFaultCause(fault)}`,
    cause && { cause },
  )
}

/** The error for a response that did not arrive in time; reference.md 2.10 fixes its text. */
export function createBackendTimeout(): GatewayError {
  return new GatewayError('BACKEND_TIMEOUT', 'upstream call timeout')
}

export function describeFaultCause(fault: FaultCause): string {
  if (typeof fault === 'string') return fault
  if (fault === null) return 'connection closed'
  const code = (fault as NodeJS.ErrnoException).code ?? ''
  return ERROR_TEXTS[code] ?? (code === '' ? 'connection failed' : code)
}
