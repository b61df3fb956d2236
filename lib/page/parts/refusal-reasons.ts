// What each reason code of the access log means, and what to do about it.

export interface Reason {
  /** One sentence. */
  readonly words: string
  readonly advice: string
  /** The policy by its name in the configuration; null when no policy decided. */
  readonly policy: string | null
}

type Row = readonly [words: string, advice: string]

const TOKEN = 'jwtAuth or mcpAuthentication'

const OF_TOKENS: Readonly<Record<string, Row>> = {
  token_missing: [
    'The request has no token.',
    'Send one as "authorization: Bearer <token>", or at the location that the policy names.',
  ],
  token_malformed: [
    'The token is malformed.',
    'A token has three parts separated by dots. Look for quotes, a missing part, or two tokens at once.',
  ],
  token_too_large: ['The token is too large.', 'Ask the provider for one with fewer claims.'],
  token_algorithm: [
    'The token is signed with an algorithm that is not accepted.',
    'Configure the provider to sign with a key of the published key set.',
  ],
  token_unknown_key: [
    'The token is signed with a key that its provider does not publish.',
    'Check that it is from this provider and this environment. Compare its "kid" with the key set.',
  ],
  token_signature: [
    'The signature of the token is invalid.',
    'It was modified, or another provider issued it. Get a new one.',
  ],
  token_expired: ['The token has expired.', 'Get a new one.'],
  token_not_valid_yet: [
    'The token is not valid yet.',
    'Compare the clocks of the provider and of the gateway.',
  ],
  token_issuer: [
    'The token is from another issuer.',
    'Compare its "iss" with the issuer of the policy, character by character.',
  ],
  token_audience: [
    'The token is for another audience.',
    'Compare its "aud" with the audiences of the policy.',
  ],
  token_missing_claim: [
    'The token lacks a claim that the policy requires.',
    'Configure the provider to add it, or remove it from the policy.',
  ],
  keys_unavailable: [
    'The signing keys of the issuer are unavailable.',
    'Check that the gateway can reach the key set of the provider. The log of the module "auth" has the error.',
  ],
}

const OF_KEYS: Readonly<Record<string, Row>> = {
  api_key_missing: [
    'The request has no API key.',
    'Send one as "authorization: Bearer <key>", or at the location that the policy names.',
  ],
  api_key_invalid: [
    'Unknown API key.',
    'Compare it with the keys of the policy; look for spaces and quotes around it.',
  ],
}

const OF_PASSWORDS: Readonly<Record<string, Row>> = {
  password_missing: ['The request has no user name and password.', 'Send both.'],
  password_invalid: ['The user name or the password is wrong.', 'Compare both with the policy.'],
  password_checks_busy: [
    'Too many passwords were being checked at once.',
    'Try again. If this continues, a client may be guessing passwords, or the hashes are too expensive.',
  ],
}

const OF_REQUESTS: Readonly<Record<string, Row>> = {
  BAD_HEAD: ['The request head is not valid HTTP.', 'Look at what the client sends.'],
  BAD_HOST: ['The request has no host, or a malformed one.', 'Look at the Host header.'],
  BAD_TARGET: ['The path of the request is malformed.', 'The client must percent-encode it.'],
  BAD_FRAMING: [
    'The length of the request is ambiguous.',
    'Send either content-length or transfer-encoding, once.',
  ],
  BAD_CHUNK: [
    'The chunked encoding of the request body is malformed.',
    'Look at what the client sends.',
  ],
  METHOD_NOT_ALLOWED: ['This method is not allowed here.', 'CONNECT is for forward proxies only.'],
  METHOD_UNKNOWN: ['The method is unknown.', 'Look at what the client sends.'],
  VERSION_UNKNOWN: ['The HTTP version is not supported.', 'Use HTTP/1.1 or HTTP/2.'],
  HEAD_TIMEOUT: [
    'The client took too long to send the head.',
    'The network is slow, or this is an attack.',
  ],
  BODY_TIMEOUT: [
    'The client took too long to send the body.',
    'The network is slow, or the client announced more than it sent.',
  ],
  BODY_TOO_LARGE: [
    'The body of the request is too large.',
    'Send less, or raise the limit in the configuration.',
  ],
  HEAD_TOO_LARGE: [
    'The headers of the request are too large.',
    'Cookies and tokens are the usual cause: send fewer.',
  ],
}

const OF_MODELS: Readonly<Record<string, Row>> = {
  LLM_REQUEST: ['The body is not a valid LLM request.', 'The error message says what is wrong.'],
  LLM_ENCODING: [
    'The content encoding of the body is not supported.',
    'Send it without compression.',
  ],
  MODEL_MISSING: ['The request has no model.', 'Put "model" into the body.'],
  MODEL_DENIED: [
    'This client may not use this model.',
    'The client is authenticated, but the model is not among those it may use.',
  ],
  ORIGIN_NOT_ALLOWED: [
    'A web page of another site sent this request.',
    'If the page may use this route, add its origin to "cors.allowOrigins".',
  ],
  MODEL_NOT_FOUND: [
    'No provider has this model.',
    'Compare the name with the models of the route: see the map.',
  ],
}

const OF_GATEWAY: Readonly<Record<string, Row>> = {
  LISTENER_NOT_FOUND: [
    'No listener matches this host.',
    'Compare the host of the request with the hostnames of the listeners.',
  ],
  ROUTE_NOT_FOUND: [
    'No route matches this request.',
    'Compare host, path, method and headers with the matches on the map. A trace shows each route that was evaluated.',
  ],
  NO_BACKENDS: ['The route has no usable backend.', 'All weights are 0, or none is configured.'],
  INTERNAL: [
    'Internal error of the gateway.',
    'The log has an error line of the same time; please report it.',
  ],
  POOL_EXHAUSTED: [
    'Too many requests are queued for this backend.',
    'It is too slow for this traffic. See its connections on the map.',
  ],
  WORKER_UNREACHABLE: [
    'The worker process with this MCP session did not respond.',
    'It exited or is about to. A client can go on with a new session. The log has more.',
  ],
  LIMITS_UNAVAILABLE: [
    'The process that counts limits for all workers did not respond.',
    'It is overloaded or exited; the log has more. Until it responds, limits refuse all requests.',
  ],
  OVERLOADED: [
    'The gateway has buffered as many bytes as it may.',
    'Clients read slowly or send much: see buffered_bytes. The bound is "config.maxBytesInFlight".',
  ],
  OUT_OF_DESCRIPTORS: [
    'The gateway cannot open more files and connections.',
    'Raise the limit of open files (ulimit -n, LimitNOFILE), or find out which clients hold so many connections.',
  ],
  REQUEST_TIMEOUT: [
    'No response within the time that the route allows.',
    'The backend may be slow. The limit is "timeout.requestTimeout" of the route.',
  ],
}

const OF_BACKENDS: Readonly<Record<string, Row>> = {
  UPGRADE_FAILED: [
    'The backend did not accept the protocol upgrade.',
    'Check that it supports WebSocket at this path.',
  ],
  BACKEND_CONNECT: [
    'The backend cannot be reached.',
    'Check that it is running, and its host and port. The message has the error.',
  ],
  CONNECT_TIMEOUT: [
    'The backend did not accept the connection in time.',
    'Usual causes: a firewall, a wrong address, a machine that is down.',
  ],
  BACKEND_CLOSED: [
    'The backend closed the connection without a response.',
    'It crashed, restarted, or rejected the request. Look at its log.',
  ],
  BACKEND_INVALID: [
    'The backend did not send valid HTTP.',
    'Check the port, and whether the backend expects TLS.',
  ],
  BACKEND_TIMEOUT: [
    'The backend did not respond in time.',
    'It is slow or stuck. Look at its log.',
  ],
}

const OF_LIMITS: Readonly<Record<string, Row>> = {
  rate_limit: [
    'A rate limit is exhausted.',
    'The response says when to retry (retry-after). The Limits page shows what is left; a rate limit service keeps its own count.',
  ],
  rate_limit_unavailable: [
    'The rate limit service did not respond, and failureMode is failClosed.',
    'Check that the service runs and is reachableHost. The log has the error.',
  ],
}

const OF_RULES: Readonly<Record<string, Row>> = {
  authorization_denied: [
    'No authorization rule allows the request.',
    'A trace shows every rule with its result, and the claims it read.',
  ],
}

/** A Map, since a code of the log could be the name of an inherited property. */
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

/** Null for an unknown code. */
export function reasonOf(code: string): Reason | null {
  return REASONS.get(code) ?? null
}

/** By the outcome of an exchange that did not complete. */
const OUTCOMES: ReadonlyMap<string, Row> = new Map<string, Row>([
  [
    'client_closed',
    [
      'The client closed the connection before the response was complete.',
      'It cancelled the request, or its own timeout expired.',
    ],
  ],
  ['client_error', ['The client reset the connection.', 'Look at the client.']],
  [
    'backend_reset',
    [
      'The backend closed the connection during its response.',
      'It crashed or restarted. Look at its log.',
    ],
  ],
  [
    'backend_timeout',
    ['The backend stopped sending during its response.', 'It is stuck. Look at its log.'],
  ],
  [
    'idle',
    [
      'The connection was idle for too long and was closed.',
      'One side should send data from time to time.',
    ],
  ],
  ['shutdown', ['The gateway stopped and closed the connection.', 'Send the request again.']],
])

export function outcomeReason(outcome: string): Reason | null {
  const row = OUTCOMES.get(outcome)
  return row === undefined ? null : { words: row[0], advice: row[1], policy: null }
}

const NOT_MCP: Row = [
  'This is not an MCP request.',
  'POST with "accept: application/json, text/event-stream" and "content-type: application/json".',
]

/** Refusals of the MCP endpoint before it reads a message. */
const OF_MCP: ReadonlyMap<number, Row> = new Map<number, Row>([
  [
    400,
    [
      'The MCP message was not accepted.',
      'Most often "mcp-session-id" is missing: start with "initialize", and send the id of its response.',
    ],
  ],
  [
    403,
    [
      'MCP does not accept this host or origin.',
      'This protects browsers from DNS rebinding: see "dnsRebindingProtection" and "cors".',
    ],
  ],
  [
    404,
    [
      'The MCP session is unknown or has ended.',
      'Start again with "initialize"; a restart or a long idle time ends a session.',
    ],
  ],
  [405, NOT_MCP],
  [406, NOT_MCP],
  [415, NOT_MCP],
  [413, ['The MCP message is too large.', 'The limit is "config.mcp.maxRequestBytes".']],
  [
    503,
    [
      'The limit of MCP sessions or calls is reached.',
      'Try again later, or raise the limits under "config.mcp".',
    ],
  ],
])

export function mcpStatusReason(status: number): Reason | null {
  const row = OF_MCP.get(status)
  return row === undefined ? null : { words: row[0], advice: row[1], policy: null }
}
