// One attempt's way through a pool: waiting for a connection, sent, answered. Whatever happens to the
// connection, the attempt hears of it exactly once.

import type { GatewayError } from '../../base/errors.ts'
import type { Attempt, Body, Call, Client, Reply } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'
import { ReplayBody } from '../replay-body.ts'
import { backendTimeout } from './fault.ts'

/** What a call needs of an exchange; a request of the gateway's own has no more than this. */
export interface Asking {
  readonly request: RequestHead
  readonly client: Pick<Client, 'inform'>
  /** `once`: never again on another connection, whatever became of the first. */
  readonly sending?: 'once' | 'again'
}

/** Something that carries a call and can be told to stop. */
export interface Carrier {
  abort(call: HttpCall): void
}

export class HttpCall implements Call {
  readonly exchange: Asking
  readonly attempt: Attempt
  /** What Host says to the backend; null to leave it as the client sent it. */
  readonly host: string | null
  /** What is sent behind the head. */
  body: Body
  /** Made here, and of use until the call is over. */
  #kept: ReplayBody | null = null
  #carrier: Carrier | null = null
  #timer: NodeJS.Timeout | null = null
  #state: 'open' | 'over' = 'open'
  /** `kept`: it could go out once more. */
  #sending: 'plain' | 'kept' | 'again' = 'plain'

  constructor(exchange: Asking, attempt: Attempt, host: string | null) {
    this.exchange = exchange
    this.attempt = attempt
    this.host = host
    this.body = attempt.body
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** The route's `timeout.backendRequestTimeout`, to the answer's head. */
  limit(ms: number): void {
    this.#timer = setTimeout(() => {
      const carrier = this.#carrier
      this.failed(backendTimeout())
      carrier?.abort(this)
    }, ms)
  }

  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier
  }

  /** Who carries it may refuse it: what goes out of its body is kept, within a bound. */
  keep(): void {
    if (this.#sending !== 'plain' || this.exchange.sending === 'once') return
    this.#sending = 'kept'
    if (this.body.framing === 'none' || this.body instanceof ReplayBody) return
    this.#kept = new ReplayBody(this.body)
    this.body = this.#kept
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
    this.#carrier?.abort(this)
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
    this.#kept?.forget()
    return true
  }
}
