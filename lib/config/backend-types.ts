// What checked LLM providers, models and their policies mean.

import type { Expression } from '../expressions/compile.ts'
import type { HeaderModifierConfig } from '../expressions/computed-headers.ts'
import type { Secret } from '../text/secret.ts'
import type {
  BackendAuthConfig,
  BackendTlsConfig,
  EndpointAddress,
  TransformationsConfig,
} from './config-types.ts'
import type { AuthorizationConfig } from './policy-types.ts'

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
  readonly endpoint: EndpointAddress | null
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

type JsonObject = Readonly<Record<string, unknown>>

/** Policy `ai`. */
export interface AiPolicyConfig {
  readonly modelAliases: Readonly<Record<string, string>>
  readonly routes: Readonly<Record<string, LlmFormat>>
  readonly defaults: JsonObject
  readonly overrides: JsonObject
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
  readonly defaults: JsonObject
  readonly overrides: JsonObject
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

// What checked MCP backends mean.

/** MCP servers that appear as one. */
export interface McpConfig {
  /** At least one, with different names. */
  readonly targets: readonly McpTarget[]
  readonly statefulMode: 'stateful' | 'stateless'
  readonly prefixMode: 'conditional' | 'always' | 'never'
  readonly failureMode: 'failOpen' | 'failClosed'
  /** null: on for listeners bound to loopback. */
  readonly dnsRebindingProtection: boolean | null
}

export type McpTarget = { readonly name: string } & (
  | {
      readonly kind: 'stdio'
      readonly cmd: string
      readonly args: readonly string[]
      /** May hold credentials. */
      readonly env: Readonly<Record<string, Secret>>
      readonly clearEnv: boolean
    }
  | {
      readonly kind: 'mcp' | 'sse'
      /** Without brackets. */
      readonly host: string
      readonly port: number
      readonly path: string
      /** null for plain HTTP. */
      readonly tls: BackendTlsConfig | null
      readonly auth: BackendAuthConfig | null
      readonly requestHeaderModifier: HeaderModifierConfig | null
      readonly transformations: TransformationsConfig | null
    }
)

// Policy resources, as they are shown.

/** What a resource is attached to. */
export interface AncestorRef {
  readonly group: string
  readonly kind: 'HTTPRoute' | 'Gateway'
  readonly name: string
  readonly namespace: string
}

export interface PolicyCondition {
  readonly type: 'Accepted' | 'Attached'
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

export interface PolicyAncestor {
  /** null when the resource names no target that can be read. */
  readonly ancestorRef: AncestorRef | null
  readonly conditions: readonly PolicyCondition[]
}

/** spec.md §2.6 */
export interface PolicyResource {
  /** As it was written; null where it cannot be read. */
  readonly apiVersion: string | null
  readonly kind: 'GatewayPolicy'
  readonly metadata: { readonly name: string | null; readonly namespace: string }
  readonly spec: unknown
  readonly status: { readonly ancestors: readonly PolicyAncestor[] }
  /** `file:line:column` */
  readonly place: string
}
