// A route's LLM backend: what a request asks for, by its path, and who may answer it.

import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Backend, Dialect, Meter } from '../../base/types.ts'
import { LlmCall } from './call.ts'
import type { Catalogue } from './catalogue.ts'
import { dialectOf, isJsonFormat } from './formats.ts'
import type { FormatTable } from './formats.ts'
import { modelsReply } from './model-list.ts'
import type { PromptOptions } from './prompt/prompt.ts'
import type { BodyEdits } from './types.ts'

export interface LlmSettings {
  readonly formats: FormatTable
  readonly catalogue: Catalogue
  /** Token limits; null for none. */
  readonly meter: Meter | null
  readonly prompts: Omit<PromptOptions, 'types' | 'faults' | 'model'>
  /** `plain`: not every request there is one to an LLM. */
  readonly host: 'provider' | 'plain'
  /** Whether members of bodies are changed, but for the question for usage. */
  readonly edits: 'members' | 'nothing'
  /** Whether providers are asked to count, on behalf of clients that do not want to know. */
  readonly usage: BodyEdits['usage']
}

export class LlmBackend implements Backend {
  /** Until a provider is chosen. */
  readonly endpoint = ''
  readonly #settings: LlmSettings

  constructor(settings: LlmSettings) {
    this.#settings = settings
  }

  speaks({ request, dialect }: Exchange): Dialect {
    const asked = this.#settings.formats.of(request.path)
    const isOne = this.#settings.host === 'provider' || isJsonFormat(asked)
    return isOne ? dialectOf(asked) : dialect
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { formats, catalogue } = this.#settings
    const { request } = exchange
    const asked = formats.of(request.path)
    exchange.dialect = this.speaks(exchange)
    if (catalogue.models !== null && request.method === 'GET') {
      const known = modelsReply(request, catalogue.models)
      if (known !== null) return attempt.answer(known)
    }
    const format = formats.sent(catalogue.pathOverride, asked)
    new LlmCall(this.#settings, exchange, attempt, format).start()
  }
}
