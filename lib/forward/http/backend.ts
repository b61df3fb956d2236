// A route's HTTP backend: one origin, and how this route wants it asked.

import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Backend } from '../../base/types.ts'
import { TracedAttempt } from '../traced-attempt.ts'
import { HttpCall } from './call.ts'
import type { Pool } from './pool.ts'

export class HttpBackend implements Backend {
  readonly endpoint: string
  readonly #pool: Pool
  /** `timeout.backendRequestTimeout`, or 0. */
  readonly #timeout: number

  constructor(pool: Pool, timeout: number) {
    this.endpoint = pool.origin.label
    this.#pool = pool
    this.#timeout = timeout
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { name } = this.#pool.origin
    // A backend known by name is asked by that name, unless a policy says otherwise.
    const host = exchange.hostRewrite ?? (name === '' ? null : name)
    const { trace } = exchange
    const tried =
      trace === null ? attempt : new TracedAttempt(attempt, trace.calling(this.endpoint, { host }))
    const call = new HttpCall(exchange, tried, host)
    exchange.call = call
    if (this.#timeout > 0) call.limit(this.#timeout)
    this.#pool.take(call)
  }
}
