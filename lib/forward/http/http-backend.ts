// A route's HTTP backend: one origin, and how this route wants it asked.

import type { Exchange } from '../../core/exchange.ts'
import type { Attempt, Backend } from '../../core/types.ts'
import { TracedAttempt } from '../backend-attempt.ts'
import { HttpCall } from './backend-call.ts'
import type { ConnectionPool } from './pool.ts'

export class HttpBackend implements Backend {
  readonly endpoint: string
  readonly #pool: ConnectionPool
  /** `timeout.backendRequestTimeout`, or 0. */
  readonly #timeout: number

  constructor(pool: ConnectionPool, timeout: number) {
    this.endpoint = pool.origin.label
    this.#pool = pool
    this.#timeout = timeout
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { name } = this.#pool.origin
    // A backend known by name is asked by that name, unless a policy says otherwise.
    const host = exchange.enforcement.hostRewrite ?? (name === '' ? null : name)
    const { trace } = exchange
    const tried =
      trace === null
        ? attempt
        : new TracedAttempt(attempt, trace.startCall(this.endpoint, { host }))
    const call = new HttpCall(exchange, tried, host)
    exchange.pendingCall = call
    if (this.#timeout > 0) call.setDeadline(this.#timeout)
    this.#pool.submit(call)
  }
}
