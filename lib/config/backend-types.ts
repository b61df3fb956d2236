// Types of checked LLM providers and models, MCP backends, and policy resources.

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

/** The API format of an LLM path. */
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

/** `model` replaces the model of the request; null keeps it. */
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

/** A provider and its location; a null field means the default of the provider. */
export interface AiEntry {
  readonly name: string
  readonly provider: AiProvider
  readonly endpoint: EndpointAddress | null
  readonly pathOverride: string | null
  readonly pathPrefix: string | null
  /** Credential of this provider; it overrides that of the backend and of the route. */
  readonly auth: BackendAuthConfig | null
  readonly tls: BackendTlsConfig | null
}

/** Groups in failover order: the next group is used when all providers of one fail. */
export interface AiConfig {
  readonly groups: readonly (readonly AiEntry[])[]
}

type JsonObject = Readonly<Record<string, unknown>>

/** The policy `ai`. */
export interface AiPolicyConfig {
  readonly modelAliases: Readonly<Record<string, string>>
  readonly routes: Readonly<Record<string, LlmFormat>>
  readonly defaults: JsonObject
  readonly overrides: JsonObject
  /** `inject`: streams are requested with usage, which is hidden from the client; `limited`: only where tokens are limited. */
  readonly usage: 'inject' | 'limited' | 'passthrough'
}

/** The section `llm`. */
export interface LlmConfig {
  /** In match order: the name with the most literal characters first. */
  readonly models: readonly LlmModel[]
  readonly virtualModels: readonly VirtualModel[]
}

export interface LlmModel {
  /** May contain one `*`, at the start or the end. */
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

/** MCP servers that are served as one MCP server. */
export interface McpConfig {
  /** At least one; names are unique. */
  readonly targets: readonly McpTarget[]
  readonly statefulMode: 'stateful' | 'stateless'
  readonly prefixMode: 'conditional' | 'always' | 'never'
  readonly failureMode: 'failOpen' | 'failClosed'
  /** null: enabled on listeners that are bound to loopback. */
  readonly dnsRebindingProtection: boolean | null
}

export type McpTarget = { readonly name: string } & (
  | {
      readonly kind: 'stdio'
      readonly cmd: string
      readonly args: readonly string[]
      /** Environment variables, which may contain credentials. */
      readonly env: Readonly<Record<string, Secret>>
      /** The child gets only `env`. */
      readonly clearEnv: boolean
      /** The child gets all variables of the gateway, not only a few. */
      readonly inheritEnv: boolean
    }
  | {
      readonly kind: 'mcp' | 'sse'
      /** An IPv6 address has no brackets. */
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

/** The target that a policy resource is attached to. */
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
  /** null when the resource is invalid and its targets are unknown. */
  readonly ancestorRef: AncestorRef | null
  readonly conditions: readonly PolicyCondition[]
}

/** A GatewayPolicy with its status, as shown in the config dump (spec.md §2.6). */
export interface PolicyResource {
  /** null if it is not text. */
  readonly apiVersion: string | null
  readonly kind: 'GatewayPolicy'
  readonly metadata: { readonly name: string | null; readonly namespace: string }
  readonly spec: unknown
  readonly status: { readonly ancestors: readonly PolicyAncestor[] }
  /** `file:line:column` */
  readonly place: string
}
