// The transport of 2024-11-05 for old clients: a GET that stays open and brings everything, and POSTs that are merely
// accepted (reference.md 4.10). The session lives as long as the stream.

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

export function acceptLegacyPost(
  backend: McpBackend,
  visit: McpHttpRequest,
  { messages }: PostedMessages,
): void {
  const { exchange, attempt } = visit
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
  const isGreeting = first?.method === 'initialize'
  const isEarly = session.state !== 'open' && messages.some(({ kind }) => kind === 'request')
  if (isGreeting ? session.state !== 'new' : isEarly) {
    const message = isGreeting ? 'the session is initialized' : 'the session is not initialized'
    return refuse(400, { code: RPC_CODES.invalidRequest, message })
  }
  session.fields = backend.clientHeadersFor(exchange)
  if (isGreeting) session.initializeLegacy(first, visit)
  else session.receive(messages, visit)
}

// `statefulMode: stateless`: every request gets a session of its own, begun by the gateway and ended with the answer.

export function serveStatelessRequest(
  backend: McpBackend,
  visit: McpHttpRequest,
  posted: PostedMessages,
): void {
  const { exchange, attempt } = visit
  const version = protocolVersionOf(exchange.request)
  const fault = checkProtocolVersion(version) ?? checkBatch(posted, version ?? BATCH_VERSION)
  const [first] = posted.messages
  if (fault !== null) return attempt.answer(createRpcRefusal(400, fault, first?.idText))
  // Whatever it says, nobody is left to hear it.
  if (!posted.messages.some(({ kind }) => kind === 'request'))
    return attempt.answer(createAcceptedReply())
  const isGreeting = first?.method === 'initialize'
  const greeting = isGreeting ? first : createInitializeMessage(version ?? NEWEST_VERSION)
  const session = backend.group.beginSession(greeting, backend.describeClient(exchange))
  if (typeof session === 'string')
    return attempt.answer(
      createRpcRefusal(503, { code: RPC_CODES.server, message: session }, first?.idText),
    )
  if (isGreeting) session.begin(visit, [])
  else session.serveWithoutSession(posted.messages, visit)
  session.retire(SINGLE_REQUEST_REASON)
}

// An `initialize` of the gateway's own, where no client has sent one.

function createInitializeMessage(version: string): RpcMessage {
  const params = {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 'gateway', version: VERSION },
  }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  // Our own words: they are a message.
  return RpcMessage.parse(Buffer.from(text)) as RpcMessage
}

// The documents about authorization that an only remote target may be asked for. Nothing else of it is in reach this
// way: no rule, session or bound of MCP holds there.

const DOCUMENTS = [RESOURCE_METADATA_PATH, SERVER_METADATA_PATH, OPENID_CONFIGURATION_PATH]

const METHODS = ['GET', 'HEAD', 'OPTIONS']

export function isDocumentRequest({ method, path }: RequestHead): boolean {
  if (!METHODS.includes(method) || /(?:^|\/)\.{1,2}(?:\/|$)|%2e|%2f|%5c|\\/i.test(path))
    return false
  return DOCUMENTS.some((document) => path === document || path.startsWith(`${document}/`))
}
