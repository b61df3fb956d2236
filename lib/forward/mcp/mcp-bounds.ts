// Fixed bounds of MCP sessions and targets; bounds with a config key are in `core/bounds.ts`.

/** Requests of one client session that wait for an answer. */
export const MAX_SESSION_CALLS = 1_024

/** Requests from targets that wait for the client's answer, in one session. */
export const MAX_SERVER_REQUESTS = 256

/** Messages in one batch (protocol version 2025-03-26 only). */
export const MAX_BATCH = 100

/** Events of one session that are kept for a client that reconnects with Last-Event-ID. */
export const MAX_HISTORY_EVENTS = 256
export const MAX_HISTORY_BYTES = 1_048_576

/** Bytes of one stream that may wait for a slow reader. */
export const MAX_STREAM_QUEUE_BYTES = 1_048_576

/** How long a response head waits for its first message, so that both are sent together. */
export const HEAD_DELAY_MS = 5_000

/** How long a call whose resumable stream broke waits for the client to reconnect. */
export const RESUME_GRACE_MS = 10_000

/** Restarts of a target in one session, the delay before each, and the ready time that resets the count. */
export const MAX_RESTARTS = 5
export const RESTART_DELAYS_MS: readonly number[] = [0, 1_000, 2_000, 4_000, 8_000]
export const RESTARTS_RESET_MS = 60_000

/** Children of evicted sessions that may still be ending, in addition to `config.mcp.maxChildren`. */
export const MAX_EVICTED_CHILDREN = 32

/** Pages of one target's list that are joined. */
export const MAX_LIST_PAGES = 64

/** Item names whose target is remembered when names have no prefix. */
export const MAX_REMEMBERED_NAMES = 10_000

/** Resource subscriptions that are repeated when a target is restarted. */
export const MAX_SUBSCRIPTIONS = 256

/** Bytes that the open calls of one session may hold together. */
export const MAX_CALL_BYTES = 67_108_864

/** Characters of a client's or a target's text in one log field. */
export const MAX_LOGGED_LENGTH = 256
