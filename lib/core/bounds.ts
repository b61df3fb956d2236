// Every limit by name, with its default. The comment names the config key that sets it; a limit without a key is
// fixed, because no configuration should depend on it.

/**
 * `off`: paths are matched and forwarded as received. `merge`: unreserved escapes are decoded, dot segments resolved and
 * slashes merged. `strict`: as `merge`, and paths that backends read in different ways are refused.
 */
export type PathNormalization = 'off' | 'merge' | 'strict'

export interface WireLimits {
  /** frontendPolicies.http.normalizePath: the form in which paths are matched and forwarded. */
  normalizePath: PathNormalization
  /** frontendPolicies.http.maxHeadBytes: request line and fields; at most READ_BUFFER_BYTES. */
  maxHeadBytes: number
  /** frontendPolicies.http.http1MaxHeaders: fields in one head. */
  maxHeaders: number
  /** frontendPolicies.http.maxBodyBytes: a request's body; bodies are streamed, so there is no bound unless set. */
  maxBodyBytes: number
  /** frontendPolicies.http.headTimeout: from the first byte (or the connection) to the end of the head. */
  headTimeout: number
  /** frontendPolicies.http.bodyIdleTimeout: between two reads of a request body. */
  bodyIdleTimeout: number
  /** frontendPolicies.http.responseIdleTimeout: a client that reads nothing of its response. */
  responseIdleTimeout: number
  /** frontendPolicies.http.http1IdleTimeout: an idle kept-alive connection; longer than that of common proxies in front. */
  keepAliveTimeout: number
  /** frontendPolicies.http.maxConnections: open connections per listener port. */
  maxConnections: number
  /** frontendPolicies.http.maxConnectionsPerAddress: of one client address (IPv6: one /64), over all ports. */
  maxConnectionsPerAddress: number
  /** frontendPolicies.http.http2MaxStreams: streams a client may have open on one HTTP/2 connection. */
  maxStreams: number
  /** frontendPolicies.tls.handshakeTimeout. */
  handshakeTimeout: number
  /** frontendPolicies.http.headersWithUnderscores: whether names that collide with those of policies are dropped. */
  headersWithUnderscores: 'drop' | 'allow'
}

export const WIRE_LIMITS: WireLimits = {
  normalizePath: 'merge',
  maxHeadBytes: 32_768,
  maxHeaders: 128,
  maxBodyBytes: Number.MAX_SAFE_INTEGER,
  headTimeout: 30_000,
  bodyIdleTimeout: 60_000,
  responseIdleTimeout: 120_000,
  keepAliveTimeout: 600_000,
  maxConnections: 65_536,
  maxConnectionsPerAddress: 16_384,
  maxStreams: 128,
  handshakeTimeout: 15_000,
  headersWithUnderscores: 'drop',
}

/** The limits of one port. */
export interface PortLimits extends WireLimits {
  /** Header names that policies use, in lower case: a request must not send them as trailers. */
  readonly guardedNames: ReadonlySet<string>
  /** The same names with dashes instead of underscores; empty where names with underscores are allowed. */
  readonly dashedNames: ReadonlySet<string>
}

export interface BackendLimits {
  /** config.backend.connectTimeout: DNS lookup, TCP and TLS together. */
  connectTimeout: number
  /** config.backend.poolIdleTimeout: an idle pooled connection, unless the backend announces a shorter time. */
  poolIdleTimeout: number
  /** config.backend.poolMaxAge: an older connection takes no further request, so that the name is looked up again. */
  poolMaxAge: number
  /** config.backend.poolMaxSize: connections to one origin, busy and idle. */
  poolMaxSize: number
  /** config.backend.poolMaxWaiting: requests that may wait for a connection to one origin. */
  poolMaxWaiting: number
  /** config.backend.bodyIdleTimeout: a backend that sends nothing in the middle of a response. */
  bodyIdleTimeout: number
  /** config.backend.responseHeadTimeout: from the end of a request to the head of its response; 0 for none. */
  responseHeadTimeout: number
}

export const BACKEND_LIMITS: BackendLimits = {
  connectTimeout: 10_000,
  poolIdleTimeout: 90_000,
  poolMaxAge: 600_000,
  poolMaxSize: 16_384,
  poolMaxWaiting: 4_096,
  bodyIdleTimeout: 600_000,
  responseHeadTimeout: 60_000,
}

export interface McpLimits {
  /** config.mcp.sessionTtl: a session without a request and without an open stream. */
  sessionTtl: number
  /** config.mcp.goneTtl: the same, when the client itself closed its GET stream. */
  goneTtl: number
  /** config.mcp.maxSessions: open sessions, over all routes. */
  maxSessions: number
  /** config.mcp.maxSessionsPerClient: open sessions of one principal or, without one, of one address. */
  maxSessionsPerClient: number
  /** config.mcp.maxChildren: child processes alive, over all routes. */
  maxChildren: number
  /** config.mcp.maxChildrenPerClient: child processes of one client, identified in the same way. */
  maxChildrenPerClient: number
  /** config.mcp.startTimeout: from the start of a target to its response to `initialize`. */
  startTimeout: number
  /** config.mcp.listTimeout: how long one of several targets may delay a response that combines all of them. */
  listTimeout: number
  /** config.mcp.maxRequestBytes: one POST of a client. */
  maxRequestBytes: number
  /** config.mcp.maxReadTogether: all POSTs together that are not completely read. */
  maxReadTogether: number
  /** config.mcp.maxMessageBytes: one message of a target. */
  maxMessageBytes: number
  /** config.mcp.keepAlive: silence on an event stream before a comment is sent; 0 for no comments. */
  keepAlive: number
}

export const MCP_LIMITS: McpLimits = {
  sessionTtl: 1_800_000,
  goneTtl: 300_000,
  maxSessions: 10_000,
  maxSessionsPerClient: 5_000,
  maxChildren: 256,
  maxChildrenPerClient: 128,
  startTimeout: 30_000,
  listTimeout: 10_000,
  maxRequestBytes: 4_194_304,
  maxReadTogether: 268_435_456,
  maxMessageBytes: 16_777_216,
  keepAlive: 15_000,
}

export interface LlmLimits {
  /** config.llm.maxHeldBytes: bytes of one request that are held until its model is known. */
  maxHeldBytes: number
  /** config.llm.maxHeldTogether: bytes of all requests that are held for that or for another provider attempt. */
  maxHeldTogether: number
  /** config.llm.maxKeptBytes: a request up to this length is kept for another provider attempt; 0 keeps none. */
  maxKeptBytes: number
  /** config.llm.firstByteTimeout: time to the response head before the next provider is called; 0 for any time. */
  firstByteTimeout: number
}

export const LLM_LIMITS: LlmLimits = {
  maxHeldBytes: 4_194_304,
  maxHeldTogether: 268_435_456,
  maxKeptBytes: 4_194_304,
  firstByteTimeout: 60_000,
}

/** config.connectionTerminationDeadline: how long running requests may finish after SIGTERM. */
export const TERMINATION_DEADLINE_MS = 30_000

/** config.workers: processes that share the ports. */
export const DEFAULT_WORKERS = 1
export const MAX_WORKERS = 64

/** config.maxBytesInFlight: bytes the process may hold for requests before it refuses new ones. */
export const MAX_BYTES_IN_FLIGHT = 536_870_912

/** The part of it that MCP sessions may use for events that a client may request again. */
export const SESSION_HISTORY_SHARE = 0.25

/** config.trace.maxWatchers: clients that wait for a trace. */
export const MAX_TRACE_WATCHERS = 32

/** config.rateLimit.maxKeys: key values of one limit that have a bucket each (§8). */
export const MAX_LIMIT_KEYS = 65_536

/** config.ui.maxReaders: event streams of the web page, over all its addresses. */
export const MAX_PAGE_STREAMS = 32

/** config.trace.maxBodyBytes: bytes of each body in a trace. */
export const MAX_TRACED_BODY_BYTES = 2_097_152

/** After this idle time, TCP probes detect a peer that disappeared. */
const TCP_KEEPALIVE_MS = 60_000

/** Options of every connection; without Nagle, so that writes are sent at once. */
export const TCP_OPTIONS = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: TCP_KEEPALIVE_MS,
} as const

/** The size of one read from a socket. */
export const READ_BUFFER_BYTES = 65_536

/** Below this many unread bytes, reading continues, because only a read detects that the peer has closed. */
export const MAX_UNREAD_BYTES = 16_384

/** Longer content is written as a Buffer of its own; shorter is joined with the head as one string. */
export const MAX_STRING_WRITE_BYTES = 16_000

/** Chunk extensions and trailers of one chunked body together. */
export const MAX_CHUNK_EXTRA_BYTES = 16_384

/** Bytes of a request body kept for the `retry` policy or for a retry after a stale pooled connection. */
export const MAX_REPLAY_BYTES = 65_536

/** Provider attempts for one LLM request. */
export const MAX_PROVIDER_ATTEMPTS = 8

/** A reused connection that closes this soon after a request was already closing: the request is retried. */
export const STALE_CONNECTION_MS = 2_000

/** Interim responses to one request; a backend that sends more is faulty. */
export const MAX_INTERIM_RESPONSES = 16

/** After a response that did not wait for the end of the request: how long and how much is read and dropped. */
export const LINGER_MS = 2_000
export const MAX_LINGER_BYTES = 4_194_304

/** The margin subtracted from a backend's `keep-alive: timeout=`. */
export const KEEP_ALIVE_MARGIN_MS = 1_000
