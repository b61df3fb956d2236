// What checked LLM providers, models and their policies mean.

import type { AuthorizationConfig } from './auth-types.ts'
import type { Expression } from '../cel/compile.ts'
import type { BackendAuthConfig, BackendTlsConfig, Endpoint } from './types.ts'
import type { HeaderModifierConfig } from '../cel/computed-headers.ts'

/** The dialect a path speaks. */
export type LlmFormat =
  | 'completions'
  | 'messages'
  | 'models'
  | 'passthrough'
  | 'detect'
  | 'responses'
  | 'embeddings'
  | 'realtime'
  | 'anthropicTokenCount'
  | 'generateContent'
  | 'geminiCountTokens'
  | 'rerank'

/** `model` replaces the one of the request; null keeps it. */
export type AiProvider =
  | { readonly kind: 'openAI' | 'anthropic' | 'gemini' | 'mock'; readonly model: string | null }
  | { readonly kind: 'bedrock'; readonly region: string; readonly model: string | null }
  | {
      readonly kind: 'azure'
      readonly resourceName: string
      readonly resourceType: 'openAI' | 'foundry' | 'aiServices'
      readonly apiVersion: string | null
      readonly model: string | null
    }
  | {
      readonly kind: 'custom'
      readonly formats: readonly { readonly type: LlmFormat; readonly path: string | null }[]
      readonly model: string | null
    }

/** A provider and how it is reached; what is null is the provider's own. */
export interface AiEntry {
  readonly name: string
  readonly provider: AiProvider
  readonly endpoint: Endpoint | null
  readonly pathOverride: string | null
  readonly pathPrefix: string | null
  /** Its own, in front of those of its backend and route. */
  readonly auth: BackendAuthConfig | null
  readonly tls: BackendTlsConfig | null
}

/** The next group is used when all of one fail. */
export interface AiConfig {
  readonly groups: readonly (readonly AiEntry[])[]
}

type Json = Readonly<Record<string, unknown>>

/** Policy `ai`. */
export interface AiPolicyConfig {
  readonly modelAliases: Readonly<Record<string, string>>
  readonly routes: Readonly<Record<string, LlmFormat>>
  readonly defaults: Json
  readonly overrides: Json
  /** `inject`: streams are asked to count, unseen by the client, where tokens are limited. */
  readonly usage: 'inject' | 'passthrough'
}

/** `llm:` */
export interface LlmConfig {
  /** In the order they are tried: most literal characters first. */
  readonly models: readonly LlmModel[]
  readonly virtualModels: readonly VirtualModel[]
}

export interface LlmModel {
  /** May hold one `*`, at its begin or end. */
  readonly name: string
  readonly visibility: 'public' | 'internal'
  readonly entry: AiEntry
  readonly authorization: AuthorizationConfig | null
  readonly defaults: Json
  readonly overrides: Json
  readonly requestHeaders: HeaderModifierConfig | null
  readonly responseHeaders: HeaderModifierConfig | null
}

export interface VirtualModel {
  readonly name: string
  readonly routing:
    | { readonly kind: 'weighted'; readonly targets: readonly { model: string; weight: number }[] }
    | {
        readonly kind: 'failover'
        readonly targets: readonly { model: string; priority: number }[]
      }
    | {
        readonly kind: 'conditional'
        readonly targets: readonly { model: string; when: Expression | null }[]
      }
}
