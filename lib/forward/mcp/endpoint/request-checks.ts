// Checks that an HTTP request is a valid MCP request (reference.md 4.1): headers, protocol version,
// routing headers and body.

import type { RequestHead } from '../../../core/head.ts'
import type { Reply } from '../../../core/types.ts'
import { describeInvalidJson, findJsonValue, listItems } from '../../../text/json-scan.ts'
import { createRpcRefusal, RPC_CODES, RpcMessage } from '../json-rpc.ts'
import type { RpcError } from '../json-rpc.ts'
import { MAX_BATCH } from '../mcp-bounds.ts'

const JSON_TYPE = 'application/json'
const EVENT_STREAM = 'text/event-stream'

/** Returns the refusal of an invalid POST, or null. */
export function checkPostRequest(head: RequestHead): Reply | null {
  const accept = acceptOf(head)
  if (!accept.includes(JSON_TYPE) || !accept.includes(EVENT_STREAM))
    return createTransportRefusal(406, `client must accept both ${JSON_TYPE} and ${EVENT_STREAM}`)
  const [type = ''] = (head.get('content-type') ?? '').toLowerCase().split(';')
  if (type.trim() !== JSON_TYPE) return createTransportRefusal(415, `client must send ${JSON_TYPE}`)
  const coding = head.get('content-encoding')
  return coding === undefined || coding === 'identity'
    ? null
    : createTransportRefusal(415, `client must send ${JSON_TYPE} without content-encoding`)
}

/** Refuses a header that must have one value but was sent with two. */
export function checkRepeatedHeaders(head: RequestHead): Reply | null {
  for (const name of ['mcp-session-id', 'mcp-protocol-version'])
    if (new Set(head.getAll(name)).size > 1)
      return createTransportRefusal(400, `${name} is sent with two values`)
  return null
}

export function checkGetRequest(head: RequestHead): Reply | null {
  return acceptOf(head).includes(EVENT_STREAM)
    ? null
    : createTransportRefusal(406, `client must accept ${EVENT_STREAM}`)
}

export function createMethodRefusal(allowed: readonly [string, ...string[]]): Reply {
  const last = allowed.at(-1)!
  const others = allowed.slice(0, -1).join(', ')
  const list = others === '' ? last : `${others}, or ${last}`
  const reply = createTransportRefusal(405, `method not allowed; must be ${list}`)
  reply.head.add('allow', allowed.join(', '))
  return reply
}

/** Creates a refusal of a request whose messages were not read. */
export function createTransportRefusal(status: number, message: string): Reply {
  return createRpcRefusal(status, { code: RPC_CODES.server, message })
}

function acceptOf(head: RequestHead): string {
  return head.getAll('accept').join(',').toLowerCase()
}

/** Versions with `initialize`; 2026-07-28 has none and is not supported yet. */
const VERSIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']

export const NEWEST_VERSION = '2025-11-25'

/** The only version with batches, and the default for clients that send no version header. */
export const BATCH_VERSION = '2025-03-26'

export function protocolVersionOf(head: RequestHead): string | undefined {
  return head.get('mcp-protocol-version')
}

/** Checks the version header; `negotiated` is the session's version, which a target may have chosen freely. */
export function checkProtocolVersion(
  version: string | undefined,
  negotiated = '',
): RpcError | null {
  if (version === undefined || VERSIONS.includes(version) || version === negotiated) return null
  return {
    code: RPC_CODES.version,
    message: `unsupported MCP protocol version: ${version}`,
    data: { supported: VERSIONS, requested: version },
  }
}

/**
 * `Mcp-Method` and `Mcp-Name` must match the body, since proxies in front may have routed by them (reference.md 4.3).
 * Both are optional in the supported versions.
 */
export function checkRoutingHeaders(head: RequestHead, message: RpcMessage): RpcError | null {
  const method = decodeMcpHeader(head.get('mcp-method'))
  if (method !== undefined && method !== message.method) return createHeaderMismatch('method')
  const name = decodeMcpHeader(head.get('mcp-name'))
  if (name === undefined) return null
  const nameInBody = message.textParam('name') ?? message.textParam('uri')
  return name === nameInBody ? null : createHeaderMismatch('name')
}

/** Names that are not ASCII are sent as `=?base64?…?=`. */
function decodeMcpHeader(value: string | undefined): string | undefined {
  const [, coded] = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value ?? '') ?? []
  return coded === undefined ? value : Buffer.from(coded, 'base64').toString()
}

function createHeaderMismatch(header: string): RpcError {
  return { code: RPC_CODES.headerMismatch, message: `MCP ${header} header/body mismatch` }
}

const OPEN_BRACKET = 0x5b

/** The body of a POST: one message or a batch. */
export interface PostedMessages {
  readonly messages: readonly RpcMessage[]
  readonly isBatch: boolean
}

export function parsePostedMessages(bytes: Buffer): PostedMessages | RpcError {
  const whole = findJsonValue(bytes)
  if (whole === null)
    return { code: RPC_CODES.parse, message: describeUnreadable(describeInvalidJson(bytes)) }
  const isBatch = bytes[whole.from] === OPEN_BRACKET
  const spans = isBatch ? listItems(bytes, whole, MAX_BATCH + 1) : [whole]
  if (spans.length === 0 || spans.length > MAX_BATCH)
    return createInvalidRequest(`a batch must hold 1 to ${MAX_BATCH} messages`)
  const messages: RpcMessage[] = []
  for (const span of spans) {
    const message = RpcMessage.parseAt(bytes, span)
    if (typeof message === 'string') return createInvalidRequest(message)
    if (message.kind === 'request' && message.idText === 'null')
      return createInvalidRequest('not a JSON-RPC message: a request needs an id that is not null')
    // Authorization rules apply to requests: a notification that a lenient target takes for one must not bypass them.
    if (message.kind === 'notification' && !message.method.startsWith('notifications/'))
      return createInvalidRequest(`'${message.method}' needs an id`)
    if (isBatch && message.method === 'initialize')
      return createInvalidRequest('initialize cannot be part of a batch')
    messages.push(message)
  }
  return { messages, isBatch }
}

/** Only one version has batches. */
export function checkBatch({ isBatch }: PostedMessages, version: string): RpcError | null {
  if (!isBatch || version === BATCH_VERSION) return null
  return {
    code: RPC_CODES.invalidRequest,
    message: describeUnreadable(`no batches in version ${version}`),
  }
}

function createInvalidRequest(reason: string): RpcError {
  return { code: RPC_CODES.invalidRequest, message: describeUnreadable(reason) }
}

function describeUnreadable(reason: string): string {
  return `fail to deserialize request body: ${reason}`
}
