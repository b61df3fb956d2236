// Types that the parts of an LLM call share; no code.

import type { LlmFormat } from '../../config/backend-types.ts'
import type { GatewayError } from '../../core/errors.ts'

/** Token counts as the provider reported them; undefined if not reported. A later report of a field replaces an earlier one. */
export interface RawUsage {
  input?: number | undefined
  output?: number | undefined
  total?: number | undefined
  cachedInput?: number | undefined
  cacheCreation?: number | undefined
  reasoning?: number | undefined
  inputAudio?: number | undefined
  outputAudio?: number | undefined
}

/** Whether the input count of a provider includes cached tokens. */
export type InputCountMeaning = 'withCached' | 'withoutCached'

/** What a response watch has read so far. */
export interface ObservedUsage {
  readonly usage: RawUsage | null
  /** Whether the input of `usage` includes cached tokens, by the shape of the report. */
  readonly counts: InputCountMeaning
  readonly model: string | null
  readonly serviceTier: string | null
  /** `begun`: the output of `usage` was reported at the start of the response and is too low. */
  readonly outputCount: 'whole' | 'begun'
  /** The result of a request that only counts tokens. */
  readonly countTokens: number | null
  /** The dialect costs no tokens: lists of models, token counts. */
  readonly isFree: boolean
  /** The last event of the dialect, or the end of a JSON response. A stream without it was cut, whatever its framing. */
  readonly ending: 'seen' | 'missing'
  /** Estimated output tokens: one or more for each event, or a quarter of the bytes of a JSON response. */
  readonly outputGuess: number
  /** On the clock of `performance.now()`; 0 before any content. */
  readonly firstAt: number
  readonly lastAt: number
}

/** Changes to the members of a request body, by name; values are JSON text. */
export interface BodyEdits {
  /** Replaces the member, or adds it. */
  readonly set: ReadonlyMap<string, string>
  /** Replaces the member where there is one. */
  readonly replace: ReadonlyMap<string, string>
  /** Adds the member where it is missing. */
  readonly defaults: ReadonlyMap<string, string>
  /**
   * `ask`: `stream_options.include_usage` becomes true if the request streams and does not say so itself. `askIfPossible`: no
   * request is refused for it.
   */
  readonly usage: 'ask' | 'askIfPossible' | 'leave'
}

/** What is known of a request body; null while a member is not read yet, or if it is missing. */
export interface PromptFacts {
  readonly model: string | null
  readonly stream: boolean | null
  /** The request's own `stream_options.include_usage`. */
  readonly includeUsage: boolean | null
  /** `max_tokens`, `max_completion_tokens` or `max_output_tokens`. */
  readonly maxTokens: number | null
}

export interface PromptOwner {
  /** Called once: what `holdFor` names is known, or the body has ended without it. */
  ready(): void
  /** Called after `ready` when more is known, such as `maxTokens`. */
  moreKnown(): void
  /** The body cannot be used; no call follows. */
  failed(error: GatewayError): void
}

export type { LlmFormat }
