// The last step before a provider: behind every policy, its key under its own name and the fields it insists on.

import type { AiProvider } from '../../base/config/llm-types.ts'
import type { BackendAuthConfig } from '../../base/config/types.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Backend } from '../../base/types.ts'
import { dress } from './provider.ts'

export class ProviderBackend implements Backend {
  readonly endpoint: string
  readonly #backend: Backend
  readonly #provider: AiProvider
  readonly #auth: BackendAuthConfig | null

  constructor(backend: Backend, provider: AiProvider, auth: BackendAuthConfig | null) {
    this.endpoint = backend.endpoint
    this.#backend = backend
    this.#provider = provider
    this.#auth = auth
  }

  call(exchange: Exchange, attempt: Attempt): void {
    dress(exchange.request, this.#provider, this.#auth)
    this.#backend.call(exchange, attempt)
  }
}
