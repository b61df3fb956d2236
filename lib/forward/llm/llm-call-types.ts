// What the parts of an LLM call tell each other. Shapes only.

import type { LlmFormat } from '../../config/backend-types.ts'
import type { GatewayError } from '../../core/errors.ts'

/** Counts as a provider reported them; undefined where it said nothing. A later report of a field replaces an earlier one. */
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

/** Whether a provider's own input count has the cached tokens in it. */
export type InputCountMeaning = 'withCached' | 'withoutCached'

/** What the watch of an answer has seen so far. */
export interface ObservedUsage {
  readonly usage: RawUsage | null
  /** How the counts of `usage` are meant: by the shape they came in. */
  readonly counts: InputCountMeaning
  readonly model: string | null
  readonly serviceTier: string | null
  /** `begun`: the output of `usage` was told when the answer began, and grew since. */
  readonly outputCount: 'whole' | 'begun'
  /** What a request that only counts was answered. */
  readonly countTokens: number | null
  /** Of a dialect whose requests cost no tokens: lists of models, counts. */
  readonly isFree: boolean
  /** The dialect's last event, or the end of a whole answer. A stream without it was cut, whatever its framing says. */
  readonly ending: 'seen' | 'missing'
  /** Events, and long ones for more; of an answer in one piece, bytes over four: what output is taken for if nobody counted. */
  readonly outputGuess: number
  /** On the clock of `performance.now()`; 0 before there was any content. */
  readonly firstAt: number
  readonly lastAt: number
}

/** Changes to the members of a request's body, by name; values are JSON text. */
export interface BodyEdits {
  /** Replaces the member, or adds it. */
  readonly set: ReadonlyMap<string, string>
  /** Replaces the member where there is one. */
  readonly replace: ReadonlyMap<string, string>
  /** Adds the member where it is missing. */
  readonly defaults: ReadonlyMap<string, string>
  /** `ask`: `stream_options.include_usage` becomes true if the request streams and does not say so itself. */
  readonly usage: 'ask' | 'leave'
}

/** What is known of a request's body; null while it is not, or when it says nothing. */
export interface PromptFacts {
  readonly model: string | null
  readonly stream: boolean | null
  /** The request's own `stream_options.include_usage`. */
  readonly includeUsage: boolean | null
  /** `max_tokens`, `max_completion_tokens` or `max_output_tokens`. */
  readonly maxTokens: number | null
}

export interface PromptOwner {
  /** What was asked for is known, or the body has ended without it. Once. */
  ready(): void
  /** More is known behind `ready`, such as `maxTokens`. */
  moreKnown(): void
  /** It cannot be used; nothing comes after this. */
  failed(error: GatewayError): void
}

export type { LlmFormat }
