// The HTTP backend of a route: sends each call to the pool of one origin, with the host and the timeout of the route.

import type { Exchange } from '../../core/exchange.ts'
import type { Attempt, Backend } from '../../core/types.ts'
import { TracedAttempt } from '../backend-attempt.ts'
import { HttpCall } from './backend-call.ts'
import type { ConnectionPool } from './pool.ts'

export class HttpBackend implements Backend {
  readonly endpoint: string
  readonly #pool: ConnectionPool
  /** `timeout.backendRequestTimeout` in ms, from the call to the response head; 0 for none. */
  readonly #timeout: number
  /** From the end of the request to the response head; 0 for none. */
  readonly #headTimeout: number

  constructor(pool: ConnectionPool, timeout: number, headTimeout = 0) {
    this.endpoint = pool.origin.label
    this.#pool = pool
    this.#timeout = timeout
    this.#headTimeout = headTimeout
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { name } = this.#pool.origin
    // A backend with a host name gets it as Host, unless a policy rewrites the host.
    const host = exchange.enforcement.hostRewrite ?? (name === '' ? null : name)
    const { trace } = exchange
    const traced =
      trace === null
        ? attempt
        : new TracedAttempt(attempt, trace.startCall(this.endpoint, { host }))
    const call = new HttpCall(exchange, traced, host)
    exchange.pendingCall = call
    if (this.#timeout > 0) call.setDeadline(this.#timeout)
    // A gRPC service may send its head with the first message of a stream, whenever that is.
    else if (!call.isGrpc) call.headTimeout = this.#headTimeout
    this.#pool.submit(call)
  }
}
