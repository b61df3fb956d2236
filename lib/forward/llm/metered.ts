// A plain HTTP backend on a route whose limits count tokens: what looks like an LLM request is treated as one.

import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Backend } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'

/** `json`: every POST of JSON may cost tokens. `known`: those on paths that LLM clients use. */
export type Looks = 'json' | 'known'

export class MeteredBackend implements Backend {
  readonly endpoint: string
  readonly #plain: Backend
  readonly #llm: Backend
  readonly #isLlm: (request: RequestHead) => boolean

  constructor(plain: Backend, llm: Backend, isLlm: (request: RequestHead) => boolean) {
    this.endpoint = plain.endpoint
    this.#plain = plain
    this.#llm = llm
    this.#isLlm = isLlm
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const backend = this.#isLlm(exchange.request) ? this.#llm : this.#plain
    backend.call(exchange, attempt)
  }
}
