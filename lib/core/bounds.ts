// Every bound of the wire, by name, with its default. The comment names the config key that moves it;
// those without a key are fixed because nothing a user runs should depend on them.

export interface WireLimits {
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
  /** frontendPolicies.http.responseIdleTimeout: a client that takes nothing of its answer. */
  responseIdleTimeout: number
  /** frontendPolicies.http.http1IdleTimeout: an idle kept-alive connection; above any front proxy's. */
  keepAliveTimeout: number
  /** frontendPolicies.http.maxConnections: open connections per listener port. */
  maxConnections: number
  /** frontendPolicies.http.maxConnectionsPerAddress: of one client address (IPv6: one /64), over all ports. */
  maxConnectionsPerAddress: number
  /** frontendPolicies.http.http2MaxStreams: streams a client may have open on one HTTP/2 connection. */
  maxStreams: number
  /** frontendPolicies.tls.handshakeTimeout. */
  handshakeTimeout: number
}

export const WIRE_LIMITS: WireLimits = {
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
}

/** Those of one port. */
export interface PortLimits extends WireLimits {
  /** Header names that policies deal with, in lower case: a request must not bring them as trailers instead. */
  readonly guardedNames: ReadonlySet<string>
}

export interface BackendLimits {
  /** config.backend.connectTimeout: name look-up, TCP and TLS together. */
  connectTimeout: number
  /** config.backend.poolIdleTimeout: an idle pooled connection, unless the origin hints at less. */
  poolIdleTimeout: number
  /** config.backend.poolMaxAge: a connection older than this carries no other request, so that a name is looked up again. */
  poolMaxAge: number
  /** config.backend.poolMaxSize: connections to one origin, busy and idle. */
  poolMaxSize: number
  /** config.backend.poolMaxWaiting: requests that may wait for a connection to one origin. */
  poolMaxWaiting: number
  /** config.backend.bodyIdleTimeout: a backend silent in the middle of its answer. */
  bodyIdleTimeout: number
}

export const BACKEND_LIMITS: BackendLimits = {
  connectTimeout: 10_000,
  poolIdleTimeout: 90_000,
  poolMaxAge: 600_000,
  poolMaxSize: 16_384,
  poolMaxWaiting: 4_096,
  bodyIdleTimeout: 600_000,
}

export interface McpLimits {
  /** config.mcp.sessionTtl: a session without a request and without an open stream. */
  sessionTtl: number
  /** config.mcp.goneTtl: the same, when the client itself closed its GET stream. */
  goneTtl: number
  /** config.mcp.maxSessions: open sessions, over all routes. */
  maxSessions: number
  /** config.mcp.maxSessionsPerClient: of these, for one principal or, without one, one address. */
  maxSessionsPerClient: number
  /** config.mcp.maxChildren: child processes alive, over all routes. */
  maxChildren: number
  /** config.mcp.maxChildrenPerClient: of these, for one client in the same sense. */
  maxChildrenPerClient: number
  /** config.mcp.startTimeout: from the start of a target to its answer to `initialize`. */
  startTimeout: number
  /** config.mcp.listTimeout: how long one of several targets may hold up what all of them answer together. */
  listTimeout: number
  /** config.mcp.maxRequestBytes: one POST of a client. */
  maxRequestBytes: number
  /** config.mcp.maxReadTogether: of all POSTs that are not whole yet. */
  maxReadTogether: number
  /** config.mcp.maxMessageBytes: one message of a target. */
  maxMessageBytes: number
  /** config.mcp.keepAlive: silence on an event stream before a comment is sent; 0 for none. */
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
  /** config.llm.maxHeldBytes: of one request, while its model is not known yet. */
  maxHeldBytes: number
  /** config.llm.maxHeldTogether: of all requests, for that and for another provider's try. */
  maxHeldTogether: number
}

export const LLM_LIMITS: LlmLimits = {
  maxHeldBytes: 4_194_304,
  maxHeldTogether: 268_435_456,
}

/** config.connectionTerminationDeadline: how long running requests may finish after SIGTERM. */
export const TERMINATION_DEADLINE_MS = 30_000

/** config.workers: processes that share the ports. */
export const DEFAULT_WORKERS = 1
export const MAX_WORKERS = 64

/** config.maxBytesInFlight: what the process may hold for requests before new ones are refused. */
export const MAX_BYTES_IN_FLIGHT = 536_870_912

/** Of that, what MCP sessions keep for clients that come back. */
export const SESSION_HISTORY_SHARE = 0.25

/** config.trace.maxWatchers: who waits to see a request. */
export const MAX_TRACE_WATCHERS = 32

/** config.rateLimit.maxKeys: values of one limit's key that have a bucket of their own (§8). */
export const MAX_LIMIT_KEYS = 65_536

/** config.ui.maxReaders: event streams of the web page, wherever it is read. */
export const MAX_PAGE_STREAMS = 32

/** config.trace.maxBodyBytes: of each body, in a trace. */
export const MAX_TRACED_BODY_BYTES = 2_097_152

/** A peer whose machine vanished is noticed by probes after this. */
const TCP_KEEPALIVE_MS = 60_000

/** Of every connection: what is written leaves at once. */
export const TCP_OPTIONS = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: TCP_KEEPALIVE_MS,
} as const

/** One read of the kernel. */
export const READ_BUFFER_BYTES = 65_536

/** Bytes nobody can take yet: below this, reading goes on, for only reading tells that the peer has left. */
export const MAX_UNREAD_BYTES = 16_384

/** Above this, bytes go out as a Buffer of their own; below, joined to the head as one string. */
export const MAX_STRING_WRITE_BYTES = 16_000

/** Chunk extensions and trailers of one chunked body together. */
export const MAX_CHUNK_EXTRA_BYTES = 16_384

/** Request bodies kept to be sent again by the `retry` policy or on a stale pooled connection. */
export const MAX_REPLAY_BYTES = 65_536

/** Of an LLM request, for another provider in case the first one fails. */
export const MAX_LLM_REPLAY_BYTES = 1_048_576

/** Providers asked for one LLM request, one after the other. */
export const MAX_PROVIDER_ATTEMPTS = 8

/** A reused connection that closes this soon after a request was closing before it: the request goes out again. */
export const STALE_CONNECTION_MS = 2_000

/** Interim answers to one request; a backend that sends more is not well. */
export const MAX_INTERIM_RESPONSES = 16

/** After an answer that did not wait for the request's end: how long and how much is read and dropped. */
export const LINGER_MS = 2_000
export const MAX_LINGER_BYTES = 4_194_304

/** How much of what an idle origin hints in `keep-alive: timeout=` is kept as a margin. */
export const KEEP_ALIVE_MARGIN_MS = 1_000
