// The types of the read API under /api, shared by the server, the page and scripts. Durations are milliseconds, points in
// time milliseconds since 1970; unknown values are null.

import type { ChildProcessState, SessionView, LimitedList } from '../../core/runtime-types.ts'

export type { ChildProcessState, SessionView, LimitedList }

/** The interface that serves the page: on a gateway's listener it is read-only. */
export type UiInterface = 'admin' | 'listener'

/** GET /api/runtime, GET /api/runtime?samples=0 */
export interface RuntimeView {
  readonly place: UiInterface
  readonly version: string
  readonly node: string
  readonly startedAt: number
  readonly readiness: 'starting' | 'ready' | 'draining'
  readonly generation: number
  readonly loadedAt: number
  readonly file: string
  readonly listeners: readonly ListenerState[]
  readonly routes: LimitedList<RouteTraffic>
  /** The last five minutes, the oldest first; empty with `?samples=0`. */
  readonly samples: readonly Sample[]
  /** The last reload was refused. */
  readonly isRefused: boolean
  /** Null when the gateway runs in one process. */
  readonly workers: WorkerCounts | null
}

/** Processes that share the ports; all values of a view are sums over them. */
export interface WorkerCounts {
  readonly wanted: number
  readonly running: number
}

export interface ListenerState {
  /** The name of the gateway. */
  readonly name: string
  readonly bind: string
  readonly protocol: 'HTTP' | 'HTTPS'
  readonly state: 'open' | 'draining' | 'closed'
  readonly open: number
  readonly accepted: number
  readonly routes: number
}

/** Counts since the start. */
export interface RouteTraffic {
  readonly key: string
  readonly requests: number
  /** Responses 5xx, and requests without a complete response. */
  readonly errors: number
  /** Responses 4xx. */
  readonly refused: number
}

/** The traffic of one second, or of a few while no live stream is open; requests for the page are not counted. */
export interface Sample {
  readonly at: number
  /** The measured length of the interval. */
  readonly span: number
  readonly requests: number
  readonly errors: number
  readonly refused: number
  /** From the request head to the first byte of the response; of requests that ended in the interval. */
  readonly p50: number | null
  readonly p99: number | null
  /** From the head of an LLM request to the first token of its stream, p50. */
  readonly firstToken: number | null
  readonly tokensIn: number
  readonly tokensOut: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly openRequests: number
  readonly openStreams: number
  readonly connections: number
  readonly rss: number
  /** CPU time per time, 0 to 1 per core. */
  readonly cpu: number
}

/** GET /api/logs?after=<number> */
export interface LogsView {
  readonly filter: string
  readonly modules: readonly string[]
  readonly lines: readonly LogLine[]
  /** Older lines were dropped. */
  readonly isCut: boolean
}

export interface LogLine {
  /** Counts from 1. */
  readonly number: number
  readonly at: number
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly module: string
  readonly message: string
  /** In the order of the log line. */
  readonly fields: readonly (readonly [name: string, value: string | number | boolean])[]
}

/** GET /api/map */
export interface MapView {
  readonly generation: number
  readonly gateways: readonly GatewayNode[]
  /** Problems of policy resources that are attached to nothing in the map. */
  readonly problems: readonly string[]
  /** Routes that are not in the map. */
  readonly more: number
}

export interface GatewayNode {
  readonly name: string
  readonly bind: string
  readonly place: string | null
  readonly state: 'open' | 'draining' | 'closed'
  readonly listeners: readonly ListenerNode[]
}

export interface ListenerNode {
  readonly key: string
  readonly name: string
  /** Empty for any host. */
  readonly hostname: string
  readonly protocol: 'HTTP' | 'HTTPS'
  readonly place: string | null
  readonly policies: readonly PolicyNode[]
  readonly routes: readonly RouteNode[]
}

export interface RouteNode {
  readonly key: string
  readonly name: string
  /** `file:line:column` */
  readonly place: string | null
  readonly hostnames: readonly string[]
  /** Each in one line: `GET /v1/*`. */
  readonly matches: readonly string[]
  readonly policies: readonly PolicyNode[]
  readonly backends: readonly BackendNode[]
  /** Host names, matches and backends that are left out. */
  readonly more: number
  readonly traffic: RouteTraffic
  readonly problems: readonly string[]
}

export interface PolicyNode {
  readonly kind: string
  /** The policy resource that it comes from; null for one in the route itself. */
  readonly from: string | null
  /** Without secrets. */
  readonly config: unknown
  readonly problems: readonly string[]
}

export interface BackendNode {
  readonly key: string
  readonly kind: 'host' | 'mcp' | 'ai' | 'llm'
  /** `localhost:8080`, target names or provider names. */
  readonly label: string
  readonly weight: number
  readonly policies: readonly PolicyNode[]
  readonly config: unknown
  /** Connections; null for a backend without a pool. */
  readonly pool: {
    readonly open: number
    readonly idle: number
    readonly waiting: number
  } | null
  readonly problems: readonly string[]
}

/** GET /api/limits */
export interface LimitsView {
  readonly rules: LimitedList<LimitRule>
}

export interface LimitRule {
  /** Unique, and stable as long as the rule does not change. */
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly counts: 'requests' | 'tokens'
  /** Added at the end of each interval. */
  readonly amount: number
  /** The size of a full bucket: amount and burst. */
  readonly limit: number
  readonly interval: number
  /** The expression that selects the bucket; null for a single bucket. */
  readonly key: string | null
  /** Of the single bucket, or of requests without a key. */
  readonly remaining: number
  /** Seconds until more is added. */
  readonly reset: number
  readonly keys: number
  readonly tightest: readonly { readonly key: string; readonly remaining: number }[]
  readonly decisions: { readonly allow: number; readonly deny: number; readonly failed: number }
  /** The remaining quota of the tightest bucket over time: `[at, remaining]`, the oldest first. */
  readonly history: readonly (readonly [number, number])[]
}

/** GET /api/mcp */
export interface McpView {
  readonly backends: readonly McpBackendView[]
  readonly children: LimitedList<ChildProcessState>
}

export interface McpBackendView {
  readonly key: string
  readonly route: string
  /** The port that clients connect to. */
  readonly port: number
  /** `127.0.0.1:3000` */
  readonly bind: string
  readonly path: string
  /** Empty if any host matches. */
  readonly hostname: string
  readonly protocol: 'HTTP' | 'HTTPS'
  readonly authentication: { readonly issuer: string; readonly resource: string } | null
  readonly targets: readonly {
    readonly name: string
    readonly kind: 'stdio' | 'mcp' | 'sse'
    /** The program or the host; no arguments. */
    readonly where: string
  }[]
  readonly open: number
  readonly sessions: LimitedList<SessionView>
}

/** GET /api/config */
export interface ConfigView {
  readonly generation: number
  readonly loadedAt: number
  readonly file: string
  readonly files: readonly string[]
  /** The configuration in force without secrets; comments name the file position of each part. */
  readonly yaml: string
  readonly warnings: readonly string[]
  readonly resources: readonly ResourceState[]
  readonly refusal: { readonly at: number; readonly problems: readonly string[] } | null
}

export interface ResourceState {
  readonly name: string
  readonly place: string
  readonly conditions: readonly {
    readonly target: string
    readonly type: string
    readonly status: 'True' | 'False'
    readonly reason: string
    readonly message: string
  }[]
}

/**
 * GET /api/live?topics=runtime,logs,limits,mcp,config: an event stream, each event named after its topic.
 * `config` is sent at the start and whenever a configuration is applied or refused.
 */
export interface LiveEvents {
  readonly runtime: Sample
  readonly logs: { readonly lines: readonly LogLine[]; readonly dropped: number }
  readonly limits: LimitsView
  readonly mcp: McpView
  readonly config: { readonly generation: number; readonly isRefused: boolean }
}

export type LiveTopic = keyof LiveEvents

/*
 * GET /api/trace?expression=<CEL>&token=<token>: like /debug/trace.
 *
 * On the admin interface only:
 * POST /logging?level=<filter>: text.
 * POST, GET, DELETE /api/playground?backend=<key of an McpBackendView>&path=<its path or a well-known one>: forwards the
 * request with the headers of an MCP client to that route's listener over loopback, and streams the response back.
 */

/** POST /api/oauth/start */
export interface OAuthStart {
  /** Key of an McpBackendView. */
  readonly backend: string
  /** The redirect URI for the provider: `<origin>/ui/signed-in`. */
  readonly redirectUri: string
  /** The id of a public client, if the provider does not register clients: then 422 asks for it. */
  readonly clientId?: string
}

export interface OAuthStarted {
  /** To open in a window. */
  readonly url: string
  readonly state: string
}

/** POST /api/oauth/finish: the parameters of the redirect. */
export interface OAuthFinish {
  readonly state: string
  readonly code: string
  /** RFC 9207, where the provider sends it. */
  readonly iss: string | null
}

export interface OAuthFinished {
  readonly accessToken: string
  readonly expiresIn: number | null
  readonly scope: string | null
}

/** The body of every response that is not 2xx. */
export interface ApiProblem {
  readonly error: string
}
