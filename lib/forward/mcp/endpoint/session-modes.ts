// Requests outside a regular Streamable HTTP session: the HTTP+SSE transport of 2024-11-05, stateless requests, and
// authorization documents.

import type { RequestHead } from '../../../core/head.ts'
import { VERSION } from '../../../core/version.ts'
import {
  OPENID_CONFIGURATION_PATH,
  RESOURCE_METADATA_PATH,
  SERVER_METADATA_PATH,
} from '../../../core/well-known-paths.ts'
import { createAcceptedReply, createRpcRefusal, RPC_CODES, RpcMessage } from '../json-rpc.ts'
import type { RpcError } from '../json-rpc.ts'
import type { McpBackend } from '../mcp-backend.ts'
import { SINGLE_REQUEST_REASON } from '../mcp-group.ts'
import type { McpHttpRequest } from '../session/client-call.ts'
import {
  BATCH_VERSION,
  checkBatch,
  checkGetRequest,
  checkProtocolVersion,
  createTransportRefusal,
  NEWEST_VERSION,
  protocolVersionOf,
} from './request-checks.ts'
import type { PostedMessages } from './request-checks.ts'
import { principalOf } from '../session-principal.ts'

export const LEGACY_PATH = '/sse'
const LEGACY_VERSION = '2024-11-05'

/** HTTP+SSE (reference.md 4.10): the stream of this GET carries all messages, and the session lives as long as it. */
export function openLegacyStream(backend: McpBackend, { exchange, attempt }: McpHttpRequest): void {
  const fault = checkGetRequest(exchange.request)
  if (fault !== null) return attempt.answer(fault)
  const session = backend.group.beginSession(
    createInitializeMessage(LEGACY_VERSION),
    backend.describeClient(exchange),
  )
  if (typeof session === 'string') return attempt.answer(createTransportRefusal(503, session))
  const [path] = exchange.originalTarget.split('?')
  session.serveLegacy(attempt, `${path}?sessionId=${session.id}`)
}

/** Handles a POST of the HTTP+SSE transport; the answer goes to the stream of the session. */
export function acceptLegacyPost(
  backend: McpBackend,
  httpRequest: McpHttpRequest,
  { messages }: PostedMessages,
): void {
  const { exchange, attempt } = httpRequest
  const id = new URLSearchParams(exchange.request.query).get('sessionId')
  if (id === null)
    return attempt.answer(
      createTransportRefusal(422, 'failed to process session_id query parameter'),
    )
  const session = backend.group.findLegacy(id, principalOf(exchange.facts))
  const [first] = messages
  const refuse = (status: number, error: RpcError): void =>
    attempt.answer(createRpcRefusal(status, error, first?.idText))
  if (session === undefined)
    return refuse(404, { code: RPC_CODES.noSession, message: 'session not found' })
  const isInitialize = first?.method === 'initialize'
  const isEarly = session.state !== 'open' && messages.some(({ kind }) => kind === 'request')
  if (isInitialize ? session.state !== 'new' : isEarly) {
    const message = isInitialize
      ? 'the session is already initialized'
      : 'the session is not initialized'
    return refuse(400, { code: RPC_CODES.invalidRequest, message })
  }
  session.fields = backend.clientHeadersFor(exchange)
  if (isInitialize) session.initializeLegacy(first, httpRequest)
  else session.receive(messages, httpRequest)
}

/** `statefulMode: stateless`: the gateway starts a session for each request and ends it with the answer. */
export function serveStatelessRequest(
  backend: McpBackend,
  httpRequest: McpHttpRequest,
  posted: PostedMessages,
): void {
  const { exchange, attempt } = httpRequest
  const version = protocolVersionOf(exchange.request)
  const fault = checkProtocolVersion(version) ?? checkBatch(posted, version ?? BATCH_VERSION)
  const [first] = posted.messages
  if (fault !== null) return attempt.answer(createRpcRefusal(400, fault, first?.idText))
  // Notifications have no effect without a session.
  if (!posted.messages.some(({ kind }) => kind === 'request'))
    return attempt.answer(createAcceptedReply())
  const isInitialize = first?.method === 'initialize'
  const initialize = isInitialize ? first : createInitializeMessage(version ?? NEWEST_VERSION)
  const session = backend.group.beginSession(initialize, backend.describeClient(exchange))
  if (typeof session === 'string')
    return attempt.answer(
      createRpcRefusal(503, { code: RPC_CODES.server, message: session }, first?.idText),
    )
  if (isInitialize) session.begin(httpRequest, [])
  else session.serveWithoutSession(posted.messages, httpRequest)
  session.retire(SINGLE_REQUEST_REASON)
}

/** Creates the `initialize` that the gateway sends when the client has sent none. */
function createInitializeMessage(version: string): RpcMessage {
  const params = {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 'gateway', version: VERSION },
  }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  // The text above is always a valid message.
  return RpcMessage.parse(Buffer.from(text)) as RpcMessage
}

const DOCUMENTS = [RESOURCE_METADATA_PATH, SERVER_METADATA_PATH, OPENID_CONFIGURATION_PATH]

const DOCUMENT_METHODS = ['GET', 'HEAD', 'OPTIONS']

/**
 * Whether the request is for an authorization document, which the only remote target serves itself. All other paths
 * are refused: the rules, sessions and bounds of MCP would not apply to them.
 */
export function isDocumentRequest({ method, path }: RequestHead): boolean {
  if (!DOCUMENT_METHODS.includes(method) || /(?:^|\/)\.{1,2}(?:\/|$)|%2e|%2f|%5c|\\/i.test(path))
    return false
  return DOCUMENTS.some((document) => path === document || path.startsWith(`${document}/`))
}
