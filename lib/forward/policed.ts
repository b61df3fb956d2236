// A backend with policies of its own: they have their word when it is picked, behind those of the route.

import type { Exchange } from '../base/exchange.ts'
import type { Attempt, Backend, Dialect, Policy } from '../base/types.ts'

/** Calls `pass` if all of them let the request pass. */
type Enforce = (exchange: Exchange, policies: readonly Policy[], pass: () => void) => void

export class PolicedBackend implements Backend {
  readonly endpoint: string
  readonly #backend: Backend
  readonly #policies: readonly Policy[]
  readonly #enforce: Enforce

  constructor(backend: Backend, policies: readonly Policy[], enforce: Enforce) {
    this.endpoint = backend.endpoint
    this.#backend = backend
    this.#policies = policies
    this.#enforce = enforce
  }

  speaks(exchange: Exchange): Dialect {
    return this.#backend.speaks?.(exchange) ?? exchange.dialect
  }

  /** A refusal is the exchange's answer, not this attempt's: another try would not be another client. */
  call(exchange: Exchange, attempt: Attempt): void {
    if (this.#policies.length > 0) exchange.policies = exchange.policies.concat(this.#policies)
    this.#enforce(exchange, this.#policies, () => this.#backend.call(exchange, attempt))
  }
}
