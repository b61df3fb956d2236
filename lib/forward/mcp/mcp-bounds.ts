// Bounds of the MCP side that nobody needs to move; those with a config key are in `core/bounds.ts`.

/** Requests of one client session that wait for an answer. */
export const MAX_SESSION_CALLS = 1_024

/** Requests of targets that wait for the client's answer, in one session. */
export const MAX_SERVER_REQUESTS = 256

/** Messages in one batch (2025-03-26 only). */
export const MAX_BATCH = 100

/** Events of one session that can be sent again after a broken connection. */
export const MAX_HISTORY_EVENTS = 256
export const MAX_HISTORY_BYTES = 1_048_576

/** What may wait for a slow reader of one stream. */
export const MAX_STREAM_QUEUE_BYTES = 1_048_576

/** An answer's head waits this long for its first message, so that both leave together. */
export const HEAD_DELAY_MS = 5_000

/** How long a call whose stream broke, and could be resumed, waits for its client. */
export const RESUME_GRACE_MS = 10_000

/** Starts of a target in one session after its first, the waits before them, and what makes up for them. */
export const MAX_RESTARTS = 5
export const RESTART_DELAYS_MS: readonly number[] = [0, 1_000, 2_000, 4_000, 8_000]
export const RESTARTS_RESET_MS = 60_000

/** Pages of one list that are joined. */
export const MAX_LIST_PAGES = 64

/** Names whose owners are remembered where names have no prefix. */
export const MAX_REMEMBERED_NAMES = 10_000

/** Resource subscriptions that are made again when a target is started again. */
export const MAX_SUBSCRIPTIONS = 256

/** What the waiting calls of one session may hold together. */
export const MAX_CALL_BYTES = 67_108_864

/** Letters of a client's or a target's words in one field of the log. */
export const MAX_LOGGED_LENGTH = 256
