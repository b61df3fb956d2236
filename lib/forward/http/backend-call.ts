// One attempt's way through a pool: waiting for a connection, sent, answered. Whatever happens to the
// connection, the attempt hears of it exactly once.

import { isOutOfDescriptors, OUT_OF_DESCRIPTORS_MESSAGE } from '../../core/descriptors.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { RequestHead } from '../../core/head.ts'
import type { Attempt, Body, CancellableCall, ExchangeClient, Reply } from '../../core/types.ts'
import { ReplayBody } from '../replay-body.ts'

/** What a call needs of an exchange; a request of the gateway's own has no more than this. */
export interface HttpCallInput {
  readonly request: RequestHead
  readonly client: Pick<ExchangeClient, 'sendInterim'>
  /** `once`: never again on another connection, whatever became of the first. */
  readonly sending?: 'once' | 'again'
}

/** Something that carries a call and can be told to stop. */
export interface CallHolder {
  abort(call: HttpCall): void
}

export class HttpCall implements CancellableCall {
  readonly exchange: HttpCallInput
  readonly attempt: Attempt
  /** What Host says to the backend; null to leave it as the client sent it. */
  readonly host: string | null
  /** What is sent behind the head. */
  body: Body
  /** Made here, and of use until the call is over. */
  #replayBody: ReplayBody | null = null
  #holder: CallHolder | null = null
  #timer: NodeJS.Timeout | null = null
  #state: 'open' | 'over' = 'open'
  /** `kept`: it could go out once more. */
  #sending: 'plain' | 'kept' | 'again' = 'plain'

  constructor(exchange: HttpCallInput, attempt: Attempt, host: string | null) {
    this.exchange = exchange
    this.attempt = attempt
    this.host = host
    this.body = attempt.body
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** The route's `timeout.backendRequestTimeout`, to the answer's head. */
  setDeadline(ms: number): void {
    this.#timer = setTimeout(() => {
      const carrier = this.#holder
      this.failed(createBackendTimeout())
      carrier?.abort(this)
    }, ms)
  }

  setHolder(carrier: CallHolder): void {
    this.#holder = carrier
  }

  /** Who carries it may refuse it: what goes out of its body is kept, within a bound. */
  keepForResend(): void {
    if (this.#sending !== 'plain' || this.exchange.sending === 'once') return
    this.#sending = 'kept'
    if (this.body.framing === 'none' || this.body instanceof ReplayBody) return
    this.#replayBody = new ReplayBody(this.body)
    this.body = this.#replayBody
  }

  /** Refused: true, and only once, where it can go out from its beginning. */
  rewind(): boolean {
    const { body } = this
    if (this.isOver || this.#sending !== 'kept') return false
    if (body instanceof ReplayBody) {
      if (!body.isReplayable) return false
      body.release()
    }
    this.#sending = 'again'
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

// What went wrong on the way to a backend, in words that help and that name no inner address.

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

/** In our own words, the socket's error, or null where it just closed. */
export type FaultCause = string | Error | null

/** Of a connection that did not come about in time. */
export const CONNECT_TIMED_OUT = 'connect timed out'

export function createBackendFault(code: ErrorCode, what: FaultCause): GatewayError {
  const cause = what instanceof Error ? what : undefined
  const isOurs = cause !== undefined && isOutOfDescriptors(cause)
  const whose = isOurs ? 'OUT_OF_DESCRIPTORS' : code
  return new GatewayError(
    whose,
    `upstream call failed: ${describeFaultCause(what)}`,
    cause && { cause },
  )
}

/** No answer in time; reference.md 2.10 gives it a text of its own. */
export function createBackendTimeout(): GatewayError {
  return new GatewayError('BACKEND_TIMEOUT', 'upstream call timeout')
}

export function describeFaultCause(what: FaultCause): string {
  if (typeof what === 'string') return what
  if (what === null) return 'connection closed'
  const code = (what as NodeJS.ErrnoException).code ?? ''
  return ERROR_TEXTS[code] ?? (code === '' ? 'connection failed' : code)
}
