// The last step before a provider: behind every policy, its key under its own name and the fields it insists on.

import type { AiProvider } from '../../base/config/llm-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Backend } from '../../base/types.ts'
import { dress } from './provider.ts'
import type { KeyOwner } from './provider.ts'

export class ProviderBackend implements Backend {
  readonly endpoint: string
  readonly #backend: Backend
  readonly #provider: AiProvider
  readonly #key: KeyOwner

  constructor(backend: Backend, provider: AiProvider, key: KeyOwner) {
    this.endpoint = backend.endpoint
    this.#backend = backend
    this.#provider = provider
    this.#key = key
  }

  call(exchange: Exchange, attempt: Attempt): void {
    dress(exchange.request, this.#provider, this.#key)
    this.#backend.call(exchange, attempt)
  }
}
