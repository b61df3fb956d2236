// What the page is told, shape by shape: the read API under /api, for the page and for scripts. Types only: server and
// page share them. Times are milliseconds, points in time milliseconds since 1970; what is not known is null.

import type { ChildProcessState, SessionView, LimitedList } from '../../core/runtime-types.ts'

export type { ChildProcessState, SessionView, LimitedList }

/** Where the page is served: on a gateway's listener it only reads. */
export type UiPlace = 'admin' | 'listener'

/** GET /api/runtime, GET /api/runtime?samples=0 */
export interface RuntimeView {
  readonly place: UiPlace
  readonly version: string
  readonly node: string
  readonly startedAt: number
  readonly readiness: 'starting' | 'ready' | 'draining'
  readonly generation: number
  readonly loadedAt: number
  readonly file: string
  readonly listeners: readonly ListenerState[]
  readonly routes: LimitedList<RouteTraffic>
  /** Of the last five minutes, the oldest first; none with `?samples=0`. */
  readonly samples: readonly Sample[]
  /** The last reload was refused. */
  readonly isRefused: boolean
  /** Null where one process is all there is. */
  readonly workers: WorkerCounts | null
}

/** Processes that share the ports; what is told is of all of them together. */
export interface WorkerCounts {
  readonly wanted: number
  readonly running: number
}

export interface ListenerState {
  /** Of the gateway. */
  readonly name: string
  readonly bind: string
  readonly protocol: 'HTTP' | 'HTTPS'
  readonly state: 'open' | 'draining' | 'closed'
  readonly open: number
  readonly accepted: number
  readonly routes: number
}

/** Since the start. */
export interface RouteTraffic {
  readonly key: string
  readonly requests: number
  /** 5xx, and those that got no whole answer. */
  readonly errors: number
  /** 4xx. */
  readonly refused: number
}

/** A second of traffic, or a few while nobody reads them as they come; requests for the page itself are left out. */
export interface Sample {
  readonly at: number
  /** How long it was, in truth. */
  readonly span: number
  readonly requests: number
  readonly errors: number
  readonly refused: number
  /** From the head of a request to the first byte of its answer; of those that ended in this time. */
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
  /** How much of this time the process computed, 0 to 1 and above. */
  readonly cpu: number
}

/** GET /api/logs?after=<number> */
export interface LogsView {
  readonly filter: string
  readonly modules: readonly string[]
  readonly lines: readonly LogLine[]
  /** Older ones are gone. */
  readonly isCut: boolean
}

export interface LogLine {
  /** Counts from 1. */
  readonly number: number
  readonly at: number
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly module: string
  readonly message: string
  /** In the order they were written. */
  readonly fields: readonly (readonly [name: string, value: string | number | boolean])[]
}

/** GET /api/map */
export interface MapView {
  readonly generation: number
  readonly gateways: readonly GatewayNode[]
  /** Of policy resources that are attached to nothing that is shown. */
  readonly problems: readonly string[]
  /** Routes that are not shown. */
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
  /** Empty for any. */
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
  /** Each in one line, as people say it: `GET /v1/*`. */
  readonly matches: readonly string[]
  readonly policies: readonly PolicyNode[]
  readonly backends: readonly BackendNode[]
  /** Host names, matches and backends that are not listed. */
  readonly more: number
  readonly traffic: RouteTraffic
  readonly problems: readonly string[]
}

export interface PolicyNode {
  readonly kind: string
  /** The policy resource it comes from; null for one that stands in the route. */
  readonly from: string | null
  /** Without secrets. */
  readonly config: unknown
  readonly problems: readonly string[]
}

export interface BackendNode {
  readonly key: string
  readonly kind: 'host' | 'mcp' | 'ai' | 'llm'
  /** What people call it: `localhost:8080`, target names, provider names. */
  readonly label: string
  readonly weight: number
  readonly policies: readonly PolicyNode[]
  readonly config: unknown
  /** Connections, where it has any. */
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
  /** Unlike that of any other, and the same as long as the rule is the same. */
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly counts: 'requests' | 'tokens'
  /** Added at the end of each interval. */
  readonly amount: number
  /** What a full bucket holds: the amount and the burst. */
  readonly limit: number
  readonly interval: number
  /** The expression that tells buckets apart; null for one bucket. */
  readonly key: string | null
  /** Of the one bucket, or of what has no key. */
  readonly remaining: number
  /** Until there is more, in seconds. */
  readonly reset: number
  readonly keys: number
  readonly tightest: readonly { readonly key: string; readonly remaining: number }[]
  readonly decisions: { readonly allow: number; readonly deny: number; readonly failed: number }
  /** What was left of the tightest bucket, by time: `[at, remaining]`, the oldest first. */
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
  /** Where a client finds it. */
  readonly port: number
  /** `127.0.0.1:3000` */
  readonly bind: string
  readonly path: string
  /** Any host will do when this is empty. */
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
  /** What is in force, without secrets; comments say where each part was written. */
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
 * `config` is told once at the start and whenever another configuration is in force or was refused.
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
 * GET /api/trace?expression=<CEL>: as /debug/trace.
 *
 * On the admin interface only:
 * POST /logging?level=<filter>: text.
 * POST, GET, DELETE /api/playground?backend=<key of an McpBackendView>&path=<its path or a well-known one>: hands the request
 * on to that route's listener over loopback, with the headers an MCP client sends, and the answer back as it comes.
 */

/** POST /api/oauth/start */
export interface OAuthStart {
  /** Key of an McpBackendView. */
  readonly backend: string
  /** Where the provider sends the browser back: `<origin>/ui/signed-in`. */
  readonly redirectUri: string
  /** Of a public client, where the provider registers none: then this is asked for with 422. */
  readonly clientId?: string
}

export interface OAuthStarted {
  /** To open in a window. */
  readonly url: string
  readonly state: string
}

/** POST /api/oauth/finish: with what came back in the query. */
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

/** Whatever is not 2xx. */
export interface ApiProblem {
  readonly error: string
}
