// The codes of the access log in words: what happened, and what one can do about it.

export interface Reason {
  /** One sentence. */
  readonly words: string
  readonly advice: string
  /** Which policy it was, as the configuration calls it; null when none was. */
  readonly policy: string | null
}

type Row = readonly [words: string, advice: string]

const TOKEN = 'jwtAuth or mcpAuthentication'

const OF_TOKENS: Readonly<Record<string, Row>> = {
  token_missing: [
    'No token came with the request.',
    'Send one as "authorization: Bearer <token>", or where the policy says it looks for it.',
  ],
  token_malformed: [
    'What came as a token is none.',
    'A token has three parts with dots in between. Look for quotes, a missing part, or two tokens at once.',
  ],
  token_too_large: ['The token is too large.', 'Ask the provider for one with fewer claims.'],
  token_algorithm: [
    'The token is signed with an algorithm that is not accepted here.',
    'Have the provider sign with a key of the published set.',
  ],
  token_unknown_key: [
    'The token is signed with a key that its provider does not publish.',
    'Is it from this provider, and from this environment? Compare its "kid" with the key set.',
  ],
  token_signature: [
    'The signature of the token is wrong.',
    'It was changed on the way, or is from another provider. Get a new one.',
  ],
  token_expired: ['The token has expired.', 'Get a new one.'],
  token_not_valid_yet: [
    'The token is not valid yet.',
    'Compare the clocks of the provider and of the gateway.',
  ],
  token_issuer: [
    'The token is from another issuer.',
    'Compare its "iss" with the issuer of the policy, letter by letter.',
  ],
  token_audience: [
    'The token is meant for somebody else.',
    'Compare its "aud" with the audiences of the policy.',
  ],
  token_missing_claim: [
    'The token lacks a claim that the policy wants.',
    'Have the provider add it, or take it out of the policy.',
  ],
  keys_unavailable: [
    'The keys to check tokens by cannot be had now.',
    'Can the gateway reach the key set of the provider? The log of the module "auth" says what failed.',
  ],
}

const OF_KEYS: Readonly<Record<string, Row>> = {
  api_key_missing: [
    'No API key came with the request.',
    'Send one as "authorization: Bearer <key>", or where the policy says it looks for it.',
  ],
  api_key_invalid: [
    'Nobody here has this API key.',
    'Compare it with the keys of the policy; look for spaces and quotes around it.',
  ],
}

const OF_PASSWORDS: Readonly<Record<string, Row>> = {
  password_missing: ['No user name and password came with the request.', 'Send both.'],
  password_invalid: ['The user name or the password is wrong.', 'Compare both with the policy.'],
  password_checks_busy: [
    'Too many passwords were being checked at once.',
    'Try again. If it stays like this, somebody is guessing, or the hashes are too costly.',
  ],
}

const OF_REQUESTS: Readonly<Record<string, Row>> = {
  BAD_HEAD: ['The head of the request is no HTTP.', 'Look at what the client sends.'],
  BAD_HOST: ['The request names no host, or a malformed one.', 'Look at the Host header.'],
  BAD_TARGET: ['The path of the request is malformed.', 'Have the client encode it.'],
  BAD_FRAMING: [
    'It is not clear how long the request is.',
    'Look at its content-length and transfer-encoding: one of them, once.',
  ],
  BAD_CHUNK: ['The body of the request is badly chunked.', 'Look at what the client sends.'],
  METHOD_NOT_ALLOWED: ['This method is not allowed here.', 'CONNECT is for forward proxies.'],
  METHOD_UNKNOWN: ['The method is none of HTTP.', 'Look at what the client sends.'],
  VERSION_UNKNOWN: ['The version of HTTP is not spoken here.', 'Use HTTP/1.1 or HTTP/2.'],
  HEAD_TIMEOUT: ['The client took too long to send the head.', 'A slow network, or an attack.'],
  BODY_TIMEOUT: [
    'The client took too long to send the body.',
    'A slow network, or it announced more than it sent.',
  ],
  BODY_TOO_LARGE: [
    'The body of the request is too large.',
    'Send less, or raise the limit in the configuration.',
  ],
  HEAD_TOO_LARGE: [
    'The headers of the request are too large.',
    'Mostly cookies or tokens: send fewer of them.',
  ],
}

const OF_MODELS: Readonly<Record<string, Row>> = {
  LLM_REQUEST: [
    'The body is no request that an LLM provider understands.',
    'The message says what is wrong in it.',
  ],
  LLM_ENCODING: ['The body is encoded in a way nobody can read.', 'Send it without compression.'],
  MODEL_MISSING: ['The request names no model.', 'Put "model" into the body.'],
  MODEL_DENIED: [
    'This model is not for this client.',
    'The client is known, but what it may ask for does not include the model.',
  ],
  MODEL_NOT_FOUND: [
    'No provider here has this model.',
    'Compare the name with the models of the route: see the map.',
  ],
}

const OF_GATEWAY: Readonly<Record<string, Row>> = {
  LISTENER_NOT_FOUND: [
    'No listener is there for this host.',
    'Compare the host of the request with the hostnames of the listeners.',
  ],
  ROUTE_NOT_FOUND: [
    'No route matches this request.',
    'Compare host, path, method and headers with the matches on the map. A trace shows each route that was tried, and why not.',
  ],
  NO_BACKENDS: [
    'The route has no backend that can be used.',
    'All weights are 0, or none is configured.',
  ],
  INTERNAL: [
    'The gateway failed. That is a fault of its own.',
    'The log has an error line of the same moment; please report it.',
  ],
  POOL_EXHAUSTED: [
    'Too many requests wait for this backend already.',
    'It is too slow for what comes. See its connections on the map.',
  ],
  WORKER_UNREACHABLE: [
    'The worker process that has this MCP session did not answer.',
    'It has ended or is about to; a client that begins a new session goes on. The log says more.',
  ],
  LIMITS_UNAVAILABLE: [
    'The process that counts limits for all workers did not answer.',
    'It is overloaded or has ended; the log says more. Without its word no request passes a limit.',
  ],
  OVERLOADED: [
    'The gateway holds as much for other requests as it may.',
    'Somebody reads slowly or sends much: see buffered_bytes. The bound is "config.maxBytesInFlight".',
  ],
  OUT_OF_DESCRIPTORS: [
    'The gateway may not open more files and connections.',
    'Raise its limit of open files (ulimit -n, LimitNOFILE), or see who holds so many connections.',
  ],
  REQUEST_TIMEOUT: [
    'No answer came within the time the route allows.',
    'Is the backend slow? The limit is "timeout.requestTimeout" of the route.',
  ],
}

const OF_BACKENDS: Readonly<Record<string, Row>> = {
  UPGRADE_FAILED: [
    'The backend did not switch protocols as it should.',
    'Does it speak WebSocket at this path?',
  ],
  BACKEND_CONNECT: [
    'The backend cannot be reached.',
    'Is it running, and is its host and port right? The message says how it failed.',
  ],
  CONNECT_TIMEOUT: [
    'The backend did not accept the connection in time.',
    'A firewall, a wrong address, or a machine that is down.',
  ],
  BACKEND_CLOSED: [
    'The backend closed the connection without an answer.',
    'It crashed, restarted, or does not want what came. Look at its own log.',
  ],
  BACKEND_INVALID: [
    'What the backend sent is no HTTP.',
    'Is it the right port, and TLS where it should be?',
  ],
  BACKEND_TIMEOUT: ['The backend did not answer in time.', 'It is slow or stuck. Look at its log.'],
}

const OF_LIMITS: Readonly<Record<string, Row>> = {
  rate_limit: [
    'A rate limit is used up.',
    'The answer says when to come back (retry-after). What is left, and for whom: see Limits; a rate limit service keeps its own count.',
  ],
  rate_limit_unavailable: [
    'The rate limit service did not answer, and failureMode is failClosed.',
    'Is the service up, and reachable from here? The log says why it failed.',
  ],
}

const OF_RULES: Readonly<Record<string, Row>> = {
  authorization_denied: [
    'No rule of authorization allows it.',
    'A trace shows every rule with its result, and the claims it was computed from.',
  ],
}

/** Codes of the log could be any word: not names to look up in an object. */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  ...rows(OF_TOKENS, TOKEN),
  ...rows(OF_KEYS, 'apiKey'),
  ...rows(OF_PASSWORDS, 'basicAuth'),
  ...rows(OF_RULES, 'authorization'),
  ...rows(OF_LIMITS, 'rateLimit'),
  ...rows(OF_REQUESTS, null),
  ...rows(OF_MODELS, null),
  ...rows(OF_GATEWAY, null),
  ...rows(OF_BACKENDS, null),
])

function rows(
  table: Readonly<Record<string, Row>>,
  policy: string | null,
): (readonly [string, Reason])[] {
  return Object.entries(table).map(([code, [words, advice]]) => [code, { words, advice, policy }])
}

/** Null for a code that is not known here. */
export function reasonOf(code: string): Reason | null {
  return REASONS.get(code) ?? null
}

/** How an exchange ended when not as it should. */
const OUTCOMES: ReadonlyMap<string, Row> = new Map<string, Row>([
  [
    'client_closed',
    [
      'The client went away before the answer was complete.',
      'It gave up, or its own time was over.',
    ],
  ],
  ['client_error', ['The client broke the connection off.', 'Look at the client.']],
  [
    'backend_reset',
    [
      'The backend broke its answer off.',
      'It crashed or restarted in the middle. Look at its log.',
    ],
  ],
  [
    'backend_timeout',
    ['The backend fell silent in the middle of its answer.', 'It is stuck. Look at its log.'],
  ],
  [
    'idle',
    ['Nothing moved for too long, so it was ended.', 'Have one side send something now and then.'],
  ],
  ['shutdown', ['It was cut because the gateway stopped.', 'Send it again.']],
])

export function outcomeReason(outcome: string): Reason | null {
  const row = OUTCOMES.get(outcome)
  return row === undefined ? null : { words: row[0], advice: row[1], policy: null }
}

const NOT_MCP: Row = [
  'The request is none of MCP.',
  'POST with "accept: application/json, text/event-stream" and "content-type: application/json".',
]

/** What the MCP endpoint refuses before it looks into a message. */
const OF_MCP: ReadonlyMap<number, Row> = new Map<number, Row>([
  [
    400,
    [
      'The MCP message was not accepted.',
      'Most often "mcp-session-id" is missing: begin with "initialize", and send back the id that its answer has.',
    ],
  ],
  [
    403,
    [
      'MCP is not open to this host or origin.',
      'This protects browsers from DNS rebinding: see "dnsRebindingProtection" and "cors".',
    ],
  ],
  [
    404,
    [
      'The MCP session is not known, or not any more.',
      'Begin anew with "initialize"; a restart ends sessions, and so does a long silence.',
    ],
  ],
  [405, NOT_MCP],
  [406, NOT_MCP],
  [415, NOT_MCP],
  [413, ['The MCP message is too large.', 'The limit is "config.mcp.maxRequestBytes".']],
  [
    503,
    [
      'There is no room for another MCP session or call.',
      'Come later, or raise the limits below "config.mcp".',
    ],
  ],
])

export function mcpStatusReason(status: number): Reason | null {
  const row = OF_MCP.get(status)
  return row === undefined ? null : { words: row[0], advice: row[1], policy: null }
}
