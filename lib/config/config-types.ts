// Types of a checked configuration: plain, frozen data that lib/config/live compiles into live objects.

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
  /** The main configuration file, as the user named it. */
  readonly file: string
  /** Absolute paths of all other files that were read: further `-f` files, certificates, keys. */
  readonly files: readonly string[]
  /** Absolute paths of the folders given by `-f`; files added there later are read on a reload. */
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
  /** Includes the gateways of the sections `mcp` and `llm` that have their own port. */
  readonly gateways: readonly GatewayConfig[]
  readonly ui: UiConfig | null
  /**
   * Source position (`file:line:column`) of each part. The key is `bind/<port>` for a gateway, the key of a listener,
   * route or backend, or `ui`.
   */
  readonly places: ReadonlyMap<string, string>
  /** Valid settings that are probably mistakes; each text names its position. */
  readonly warnings: readonly string[]
  /** Policy resources as written, each with its status. */
  readonly resources: readonly PolicyResource[]
}

/** `ui` */
export interface UiConfig {
  /** Keys of the listeners that serve the web UI. */
  readonly listeners: readonly string[]
  readonly policies: UiPolicies
}

/** The section `config`; it is read at start only. */
export interface ProcessConfig {
  /** Number of processes that share the ports; with more than one, a supervisor process runs them. */
  readonly workers: number
  readonly admin: AdminAddress
  readonly stats: AdminAddress
  readonly readiness: AdminAddress
  readonly logging: LoggingConfig
  /** Header names in lower case. */
  readonly sensitiveHeaders: readonly string[]
  /** Milliseconds that running requests get to finish after SIGTERM. */
  readonly terminationDeadline: number
  /** Maximum bytes of each body in a trace. */
  readonly maxTracedBytes: number
  /** Names of members and form fields whose values a trace does not show. */
  readonly redactBodies: readonly string[]
  /** Maximum number of concurrent trace watchers. */
  readonly maxWatchers: number
  /** Maximum number of concurrent event streams of the web UI. */
  readonly maxReaders: number
  /** Maximum number of buckets of one keyed rate limit. */
  readonly maxKeys: number
  /** Maximum bytes held for all requests together; above it new requests are refused. */
  readonly maxBytesInFlight: number
}

/** `localhost` means both loopback addresses. */
export type AdminAddress =
  | { readonly kind: 'off' }
  | { readonly kind: 'localhost'; readonly port: number }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

interface LoggingConfig {
  /** Log filter, such as `info` or `info,accept=debug`. */
  readonly level: string
  readonly format: 'text' | 'json'
}

/** One port and its listeners. */
export interface GatewayConfig {
  readonly name: string
  readonly namespace: string
  readonly port: number
  readonly address: string
  /** All listeners of a port use one protocol and differ by hostname. */
  readonly listeners: readonly ListenerConfig[]
  /** Limits of policy resources that apply to all routes of the gateway together. */
  readonly limits: readonly LimitConfig[]
}

export interface ListenerConfig {
  /** `gateway/<gateway>` or `gateway/<gateway>/<listener>` */
  readonly key: string
  readonly name: string
  /** Exact name or `*.suffix`, in lower case; '' matches any host. */
  readonly hostname: string
  readonly protocol: 'HTTP' | 'HTTPS'
  readonly tls: ListenerTls | null
  /** Policies that run before a route is selected. */
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

/** A route on one listener; the same route on a second listener is a second RouteConfig with another key. */
export interface RouteConfig {
  /** `<listener key>/<namespace>/<name>` */
  readonly key: string
  readonly name: string
  readonly namespace: string
  /** Exact names or `*.suffix`, in lower case; an empty list matches any host. */
  readonly hostnames: readonly string[]
  /** At least one; the route matches if any of them matches. */
  readonly matches: readonly RouteMatch[]
  readonly policies: RoutePolicies
  /** Inline limits, then limits of policy resources. */
  readonly limits: readonly LimitConfig[]
  readonly backends: readonly BackendConfig[]
}

/** Every part must match. */
export interface RouteMatch {
  readonly path: PathMatch
  /** '' matches any method. */
  readonly method: string
  /** Names in lower case, or pseudo-headers: `:authority`, `:method`, `:path`, `:scheme`. */
  readonly headers: readonly NamedMatch[]
  readonly query: readonly NamedMatch[]
}

/** A regex must match the whole value; `value` is its source text. */
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

/** An IPv6 `host` has no brackets. */
export type EndpointAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** A policy that is not configured is null; this holds for all policy types below. */
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
  readonly buffer: BufferConfig | null
  readonly backendTLS: BackendTlsConfig | null
  readonly backendAuth: BackendAuthConfig | null
  readonly mcpAuthentication: McpAuthenticationConfig | null
  readonly mcpAuthorization: AuthorizationConfig | null
  /** Set by `remoteRateLimit` or `rateLimit.global`. */
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
  readonly http: BackendHttpConfig | null
}

export type BackendHttpVersion = '1.1' | '2'

export interface BackendHttpConfig {
  readonly version: BackendHttpVersion | null
  /** Milliseconds to the response head; null for that of the route. */
  readonly requestTimeout: number | null
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

/** `passthrough` forwards the credential of the client. */
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

/** `prefix` replaces the matched pathPrefix; its value has no trailing slash. */
export type PathRewrite =
  | { readonly kind: 'full'; readonly value: string }
  | { readonly kind: 'prefix'; readonly value: string }

export interface UrlRewriteConfig {
  /** `auto`: the host of the backend; `none`: the Host of the client; null: the default rule of the gateway. */
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

/** A list with the single entry `*` allows every value. */
export interface CorsConfig {
  readonly allowCredentials: boolean
  readonly allowHeaders: readonly string[]
  readonly allowMethods: readonly string[]
  readonly allowOrigins: readonly string[]
  readonly exposeHeaders: readonly string[]
  /** Milliseconds; null sends no `access-control-max-age`. */
  readonly maxAge: number | null
}

/** Milliseconds; null for no timeout. */
interface TimeoutConfig {
  readonly requestTimeout: number | null
  readonly backendRequestTimeout: number | null
}

/** Request bodies are read completely before a backend is called. */
interface BufferConfig {
  readonly request: { readonly maxBytes: number }
}

export interface RetryConfig {
  /** Number of retries after the first attempt. */
  readonly attempts: number
  /** Milliseconds between two attempts. */
  readonly backoff: number
  /** Response statuses that are retried, in addition to connection failures. */
  readonly codes: readonly number[]
}

export interface BackendTlsConfig {
  /** PEM of the client certificate; set together with its key. */
  readonly cert: string | null
  readonly key: Secret | null
  /** PEM of the certificate authorities that replace those of the system. */
  readonly root: string | null
  /** Name for SNI and certificate verification instead of the host of the backend. */
  readonly hostname: string | null
  /** Skips certificate verification. */
  readonly insecure: boolean
  readonly alpn: readonly string[]
}
