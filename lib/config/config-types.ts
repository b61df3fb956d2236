// What a checked configuration file means: plain, frozen data that `gateway.ts` compiles into live objects.

import type { BackendLimits, LlmLimits, McpLimits, WireLimits } from '../core/bounds.ts'
import type { Expression } from '../expressions/compile.ts'
import type { Regex } from '../expressions/regex.ts'
import type {
  ApiKeyConfig,
  AuthorizationConfig,
  BasicAuthConfig,
  JwtAuthConfig,
  LimitConfig,
  McpAuthenticationConfig,
  RemoteLimitConfig,
} from './policy-types.ts'
import type {
  AiConfig,
  AiPolicyConfig,
  LlmConfig,
  McpConfig,
  PolicyResource,
} from './backend-types.ts'
import type { Secret } from '../text/secret.ts'
import type {
  HeaderField,
  HeaderModifierConfig,
  TransformationConfig,
} from '../expressions/computed-headers.ts'

export interface Config {
  /** The file it came from, as the user named it. */
  readonly file: string
  /** Absolute paths of every other file that was read for it: further `-f` files, certificates, keys. */
  readonly files: readonly string[]
  /** Absolute paths of the folders given by `-f`: a file that appears there belongs to it. */
  readonly folders: readonly string[]
  readonly process: ProcessConfig
  /** `config.backend` */
  readonly backend: BackendLimits
  /** `config.mcp` */
  readonly mcp: McpLimits
  /** `config.llm` */
  readonly llm: LlmLimits
  /** `frontendPolicies` */
  readonly wire: WireLimits
  /** Also those of the sections `mcp` and `llm` that have a port of their own. */
  readonly gateways: readonly GatewayConfig[]
  readonly ui: UiConfig | null
  /**
   * Where parts were written, as `file:line:column`: by `bind/<port>` for gateways, by their key for listeners, routes
   * and backends, by its name for `ui`.
   */
  readonly places: ReadonlyMap<string, string>
  /** What is allowed but can hardly be meant, each with its place. */
  readonly warnings: readonly string[]
  /** Policy resources as they were written, each with its status. */
  readonly resources: readonly PolicyResource[]
}

/** `ui` */
export interface UiConfig {
  /** Keys of the listeners that serve it. */
  readonly listeners: readonly string[]
  readonly policies: UiPolicies
}

/** `config`: read at start only. */
export interface ProcessConfig {
  /** Processes that share the ports; with more than one, another one looks after them. */
  readonly workers: number
  readonly admin: AdminAddress
  readonly stats: AdminAddress
  readonly readiness: AdminAddress
  readonly logging: LoggingConfig
  /** In lower case. */
  readonly sensitiveHeaders: readonly string[]
  /** How long running requests may finish after SIGTERM, in milliseconds. */
  readonly terminationDeadline: number
  /** Of a body, in a trace. */
  readonly maxTracedBytes: number
  /** Who waits to see a request, at a time. */
  readonly maxWatchers: number
  /** Event streams of the web page, at a time. */
  readonly maxReaders: number
  /** Values of one limit's key that have a bucket of their own. */
  readonly maxKeys: number
  /** Held for requests, before new ones are refused. */
  readonly maxBytesInFlight: number
}

/** `localhost` stands for both loopback addresses. */
export type AdminAddress =
  | { readonly kind: 'off' }
  | { readonly kind: 'localhost'; readonly port: number }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

interface LoggingConfig {
  /** One filter, such as `info` or `info,accept=debug`. */
  readonly level: string
  readonly format: 'text' | 'json'
}

/** One port and who answers on it. */
export interface GatewayConfig {
  readonly name: string
  readonly port: number
  readonly address: string
  /** All speak one protocol; they differ by hostname. */
  readonly listeners: readonly ListenerConfig[]
  /** Over all its routes together, from policy resources. */
  readonly limits: readonly LimitConfig[]
}

export interface ListenerConfig {
  /** `gateway/<gateway>` or `gateway/<gateway>/<listener>` */
  readonly key: string
  readonly name: string
  /** Exact or `*.suffix`, in lower case; '' for any. */
  readonly hostname: string
  readonly protocol: 'HTTP' | 'HTTPS'
  readonly tls: ListenerTls | null
  /** Decided before a route is chosen. */
  readonly policies: GatewayPolicies
  readonly routes: readonly RouteConfig[]
}

type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

export interface ListenerTls {
  /** PEM */
  readonly cert: string
  readonly key: Secret
  readonly minVersion: TlsVersion
  readonly maxVersion: TlsVersion
}

/** A route as it hangs on one listener; on a second listener it is a second one with another key. */
export interface RouteConfig {
  /** `<listener key>/default/<name>` */
  readonly key: string
  readonly name: string
  /** Exact or `*.suffix`, in lower case; none means any. */
  readonly hostnames: readonly string[]
  /** At least one; any of them is enough. */
  readonly matches: readonly RouteMatch[]
  readonly policies: RoutePolicies
  /** Inline ones, then those of policy resources. */
  readonly limits: readonly LimitConfig[]
  readonly backends: readonly BackendConfig[]
}

/** All parts must hold. */
export interface RouteMatch {
  readonly path: PathMatch
  /** '' for any. */
  readonly method: string
  /** Names in lower case, or pseudo: `:authority`, `:method`, `:path`, `:scheme`. */
  readonly headers: readonly NamedMatch[]
  readonly query: readonly NamedMatch[]
}

/** A regex holds for the whole value only; `value` is the text the user wrote. */
export type PathMatch =
  | { readonly kind: 'exact'; readonly value: string }
  | { readonly kind: 'prefix'; readonly value: string }
  | { readonly kind: 'regex'; readonly value: string; readonly regex: Regex }

export type ValueMatch =
  | { readonly kind: 'exact'; readonly value: string }
  | { readonly kind: 'regex'; readonly value: string; readonly regex: Regex }

export interface NamedMatch {
  readonly name: string
  readonly value: ValueMatch
}

interface BackendBase {
  /** `<route key>/backend<index>` */
  readonly key: string
  readonly weight: number
  readonly policies: BackendPolicies
}

export type BackendConfig = BackendBase &
  (
    | { readonly kind: 'host'; readonly endpoint: EndpointAddress }
    | { readonly kind: 'mcp'; readonly mcp: McpConfig }
    | { readonly kind: 'ai'; readonly ai: AiConfig }
    | { readonly kind: 'llm'; readonly llm: LlmConfig }
  )

/** `host` of an IPv6 address is without brackets. */
export type EndpointAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** What is not set is null, here and below. */
export interface GatewayPolicies {
  readonly cors: CorsConfig | null
  readonly jwtAuth: JwtAuthConfig | null
  readonly basicAuth: BasicAuthConfig | null
  readonly apiKey: ApiKeyConfig | null
  readonly authorization: AuthorizationConfig | null
  readonly transformations: TransformationsConfig | null
}

export interface RoutePolicies extends GatewayPolicies {
  readonly requestHeaderModifier: HeaderModifierConfig | null
  readonly responseHeaderModifier: HeaderModifierConfig | null
  readonly urlRewrite: UrlRewriteConfig | null
  readonly requestRedirect: RedirectConfig | null
  readonly directResponse: DirectResponseConfig | null
  readonly timeout: TimeoutConfig | null
  readonly retry: RetryConfig | null
  readonly backendTLS: BackendTlsConfig | null
  readonly backendAuth: BackendAuthConfig | null
  readonly mcpAuthentication: McpAuthenticationConfig | null
  readonly mcpAuthorization: AuthorizationConfig | null
  /** `remoteRateLimit`, or `rateLimit.global`. */
  readonly remoteRateLimit: RemoteLimitConfig | null
  readonly ai: AiPolicyConfig | null
  readonly csrf: CsrfConfig | null
  readonly delay: { readonly duration: Expression } | null
  readonly requestMirror: { readonly backend: EndpointAddress; readonly percentage: number } | null
}

export interface BackendPolicies {
  readonly requestHeaderModifier: HeaderModifierConfig | null
  readonly responseHeaderModifier: HeaderModifierConfig | null
  readonly transformations: TransformationsConfig | null
  readonly backendTLS: BackendTlsConfig | null
  readonly backendAuth: BackendAuthConfig | null
  readonly authorization: AuthorizationConfig | null
  readonly mcpAuthorization: AuthorizationConfig | null
  readonly ai: AiPolicyConfig | null
}

export interface UiPolicies extends Omit<GatewayPolicies, 'transformations'> {
  readonly csrf: CsrfConfig | null
}

interface CsrfConfig {
  readonly additionalOrigins: readonly string[]
}

export interface TransformationsConfig {
  readonly request: TransformationConfig | null
  readonly response: TransformationConfig | null
}

/** `passthrough`: the client's own credential. */
export type BackendAuthConfig =
  | { readonly kind: 'passthrough' }
  | {
      readonly kind: 'header'
      readonly key: Secret
      readonly name: string
      readonly prefix: string
    }
  | { readonly kind: 'query'; readonly key: Secret; readonly name: string }

export type AuthorityRewrite =
  | { readonly kind: 'full'; readonly value: string }
  | { readonly kind: 'host'; readonly host: string }
  | { readonly kind: 'port'; readonly port: number }

/** `prefix` replaces the pathPrefix that matched; it has no slash at its end. */
export type PathRewrite =
  | { readonly kind: 'full'; readonly value: string }
  | { readonly kind: 'prefix'; readonly value: string }

export interface UrlRewriteConfig {
  /** `auto`: the backend's own name; `none`: what the client sent; null: the gateway's default rule. */
  readonly authority: AuthorityRewrite | 'auto' | 'none' | null
  readonly path: PathRewrite | null
}

export interface RedirectConfig {
  readonly scheme: 'http' | 'https' | null
  readonly authority: AuthorityRewrite | null
  readonly path: PathRewrite | null
  readonly status: 301 | 302 | 303 | 307 | 308
}

export interface DirectResponseConfig {
  readonly status: number
  readonly body: string
  readonly headers: readonly HeaderField[]
}

/** A lone `*` in a list stands for everything. */
export interface CorsConfig {
  readonly allowCredentials: boolean
  readonly allowHeaders: readonly string[]
  readonly allowMethods: readonly string[]
  readonly allowOrigins: readonly string[]
  readonly exposeHeaders: readonly string[]
  /** Milliseconds, or null to say nothing. */
  readonly maxAge: number | null
}

/** Milliseconds, or null for none. */
interface TimeoutConfig {
  readonly requestTimeout: number | null
  readonly backendRequestTimeout: number | null
}

export interface RetryConfig {
  /** Tries after the first one. */
  readonly attempts: number
  /** Milliseconds between two tries. */
  readonly backoff: number
  /** Statuses worth another try, beside failures to get any answer. */
  readonly codes: readonly number[]
}

export interface BackendTlsConfig {
  /** PEM of the client certificate, with its key; both or neither. */
  readonly cert: string | null
  readonly key: Secret | null
  /** PEM of the authorities to trust instead of the system's. */
  readonly root: string | null
  /** Name to ask for and to verify instead of the backend's host. */
  readonly hostname: string | null
  /** Verify nothing. */
  readonly insecure: boolean
  readonly alpn: readonly string[]
}
