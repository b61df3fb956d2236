// A plain HTTP backend on a route whose limits count tokens: what looks like an LLM request is treated as one.

import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Backend, Body } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'
import { isReading } from './formats.ts'
import type { FormatTable } from './formats.ts'

type IsLlm = (request: RequestHead, body: Body) => boolean

export class MeteredBackend implements Backend {
  readonly endpoint: string
  readonly #plain: Backend
  readonly #llm: Backend
  readonly #isLlm: IsLlm

  constructor(plain: Backend, llm: Backend, isLlm: IsLlm) {
    this.endpoint = plain.endpoint
    this.#plain = plain
    this.#llm = llm
    this.#isLlm = isLlm
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const backend = this.#isLlm(exchange.request, attempt.body) ? this.#llm : this.#plain
    backend.call(exchange, attempt)
  }
}

/**
 * A limit of the route's own is for everything that may cost; one of the whole gateway leaves plain APIs alone. What a
 * request says of its body's type counts for nothing: not every provider looks at it.
 */
export function looksLikeLlm(formats: FormatTable, scope: 'route' | 'gateway'): IsLlm {
  return ({ method, path }, body) =>
    !isReading(method, body) && (scope === 'route' || formats.of(path) !== 'detect')
}
