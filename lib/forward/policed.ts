// A backend with policies of its own: they have their word when it is picked, behind those of the route.

import { faultOf } from '../base/errors.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Attempt, Backend, Policy, Verdict } from '../base/types.ts'

type Enforce = (exchange: Exchange, policies: readonly Policy[]) => Verdict

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

  call(exchange: Exchange, attempt: Attempt): void {
    // Another try may pick the same backend, and its policies have spoken.
    if (exchange.policies.includes(this.#policies[0]!)) return this.#backend.call(exchange, attempt)
    exchange.policies = [...exchange.policies, ...this.#policies]
    const verdict = this.#enforce(exchange, this.#policies)
    if (verdict === undefined) return this.#backend.call(exchange, attempt)
    if (!(verdict instanceof Promise)) return attempt.answer(verdict)
    verdict
      .then((reply) => {
        if (exchange.phase === 'settled') return
        if (reply === undefined) this.#backend.call(exchange, attempt)
        else attempt.answer(reply)
      })
      .catch((error: unknown) => exchange.fail(faultOf(error)))
  }
}
