// An MCP backend of a route: Streamable HTTP on whatever path leads here, and the older transport on `/sse`.

import { addressKeyOf } from '../../core/addresses.ts'
import { errorStackOf, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Attempt, Backend } from '../../core/types.ts'
import type { AuthorizationRule } from '../../expressions/rules.ts'
import { WholeBodyReader } from '../../http/read-whole-body.ts'
import { send100Continue } from '../backend-attempt.ts'
import {
  checkBatch,
  checkGetRequest,
  checkPostRequest,
  checkProtocolVersion,
  checkRebinding,
  checkRepeatedHeaders,
  checkRoutingHeaders,
  createMethodRefusal,
  createTransportRefusal,
  parsePostedMessages,
  protocolVersionOf,
} from './endpoint/request-checks.ts'
import type { PostedMessages, RebindingProtection } from './endpoint/request-checks.ts'
import {
  acceptLegacyPost,
  isDocumentRequest,
  LEGACY_PATH,
  openLegacyStream,
  serveStatelessRequest,
} from './endpoint/session-modes.ts'
import { createAcceptedReply, createRpcRefusal, RPC_CODES } from './json-rpc.ts'
import type { RpcError, RpcMessage } from './json-rpc.ts'
import type { McpGroup } from './mcp-group.ts'
import { selectForwardedHeaders, transformForwardedHeaders } from './remote/forwarded-headers.ts'
import type { CredentialForwarding } from './remote/forwarded-headers.ts'
import type { McpHttpRequest } from './session/client-call.ts'
import type { McpSession, SessionClient } from './session/session.ts'
import type { ForwardedHeadersFor } from './target-link.ts'
import { principalOf } from './session-principal.ts'

export interface McpRouting {
  readonly rules: readonly AuthorizationRule[]
  readonly protection: RebindingProtection
  /** Whether the client's own credentials are meant for the targets. */
  readonly credentials: CredentialForwarding
  /** Who knows about authorization when it is the only target's own business. */
  readonly documents: Backend | null
}

const SESSION_ID = 'mcp-session-id'
/** Of a method's name, in the log. */
const MAX_METHOD = 64
const NOT_FOUND = { code: RPC_CODES.noSession, message: 'session not found' } as const

export class McpBackend implements Backend {
  readonly endpoint: string
  readonly group: McpGroup
  readonly #routing: McpRouting

  constructor(group: McpGroup, routing: McpRouting) {
    this.group = group
    this.endpoint = group.config.targets.map(({ name }) => name).join(',')
    this.#routing = routing
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { request } = exchange
    const visit = { exchange, attempt, rules: this.#routing.rules }
    exchange.addFacts({ mcp: {} })
    const fault = checkRebinding(exchange, this.#routing.protection)
    if (fault !== null) {
      exchange.trace?.recordRefusal('dnsRebindingProtection', 403, fault)
      return attempt.answer(createTransportRefusal(403, fault))
    }
    if (request.path === LEGACY_PATH) return this.#legacy(visit)
    if (request.path.includes('/.well-known/')) return this.#document(visit)
    const twice = checkRepeatedHeaders(request)
    if (twice !== null) return attempt.answer(twice)
    if (request.method === 'POST') return this.#post(visit)
    if (this.group.config.statefulMode === 'stateless')
      return attempt.answer(createMethodRefusal(['POST']))
    if (request.method === 'GET') this.#get(visit)
    else if (request.method === 'DELETE') this.#delete(visit)
    else attempt.answer(createMethodRefusal(['GET', 'POST', 'DELETE']))
  }

  describeClient(exchange: Exchange): SessionClient {
    const principal = principalOf(exchange.facts)
    const client = principal || addressKeyOf(exchange.source.address)
    return { principal, client, fields: this.clientHeadersFor(exchange) }
  }

  /** What remote targets may know of the client. */
  clientHeadersFor(exchange: Exchange): ForwardedHeadersFor {
    if (!this.group.isRemote) return () => []
    const fields = selectForwardedHeaders(exchange.request, this.#routing.credentials)
    // Those were verified here and taken off the request.
    const shown = exchange.enforcement.verifiedCredentials
      .filter(({ kind }) => kind === 'header')
      .map(({ name, text }) => [name, text, 'passthrough'] as const)
    return transformForwardedHeaders([...fields, ...shown], this.group.config.targets, exchange)
  }

  #get(visit: McpHttpRequest): void {
    const { request } = visit.exchange
    const fault = checkGetRequest(request)
    if (fault !== null) return visit.attempt.answer(fault)
    const session = this.#sessionOf(visit, 'session ID is required')
    if (session === null) return
    session.fields = this.clientHeadersFor(visit.exchange)
    // An empty one is what a browser says that has seen none.
    session.listen(visit.attempt, request.get('last-event-id') || undefined)
  }

  #delete(visit: McpHttpRequest): void {
    const session = this.#sessionOf(visit, 'session ID is required')
    if (session === null) return
    session.end('deleted by its client')
    visit.attempt.answer(createAcceptedReply())
  }

  #post(visit: McpHttpRequest): void {
    const fault = checkPostRequest(visit.exchange.request)
    if (fault !== null) return visit.attempt.answer(fault)
    this.#read(visit, (posted) => {
      const [first] = posted.messages
      const mismatch = posted.isBatch ? null : checkRoutingHeaders(visit.exchange.request, first!)
      if (mismatch !== null)
        return visit.attempt.answer(createRpcRefusal(400, mismatch, first!.idText))
      if (this.group.config.statefulMode === 'stateless')
        return serveStatelessRequest(this, visit, posted)
      if (first?.kind === 'request' && first.method === 'initialize') this.#initialize(visit, first)
      else this.#forwardMessages(visit, posted)
    })
  }

  #initialize(visit: McpHttpRequest, message: RpcMessage): void {
    const { exchange, attempt } = visit
    const { request } = exchange
    const refuse = (status: number, error: RpcError): void =>
      attempt.answer(createRpcRefusal(status, error, message.idText))
    const id = request.get(SESSION_ID)
    if (id !== undefined && this.group.find(id, principalOf(exchange.facts)) === undefined)
      return refuse(404, NOT_FOUND)
    if (id !== undefined)
      return refuse(400, { code: RPC_CODES.invalidRequest, message: 'the session is initialized' })
    const version = protocolVersionOf(request)
    const asked = message.textParam('protocolVersion')
    const fault = checkProtocolVersion(version)
    if (fault !== null) return refuse(400, fault)
    if (version !== undefined && version !== asked) return refuse(400, VERSION_MISMATCH)
    const session = this.group.beginSession(message, this.describeClient(exchange))
    if (typeof session === 'string')
      return refuse(503, { code: RPC_CODES.server, message: session })
    session.begin(visit, [[SESSION_ID, session.id]])
    this.group.sessionBegun(session)
  }

  #forwardMessages(visit: McpHttpRequest, posted: PostedMessages): void {
    const missing = 'session header is required for non-initialize requests'
    const idText = posted.messages[0]?.idText
    const session = this.#sessionOf(visit, missing, idText)
    if (session === null) return
    const said = protocolVersionOf(visit.exchange.request) ?? session.version
    const fault = checkBatch(posted, session.version) ?? checkBatch(posted, said)
    if (fault !== null) return visit.attempt.answer(createRpcRefusal(400, fault))
    session.fields = this.clientHeadersFor(visit.exchange)
    session.receive(posted.messages, visit)
  }

  /** The session a request names; if there is none it has been answered. */
  #sessionOf(
    { exchange, attempt }: McpHttpRequest,
    missing: string,
    idText = 'null',
  ): McpSession | null {
    const { request } = exchange
    const id = request.get(SESSION_ID)
    const refuse = (status: number, error: RpcError): null => {
      attempt.answer(createRpcRefusal(status, error, idText))
      return null
    }
    const principal = principalOf(exchange.facts)
    const session = id === undefined ? undefined : this.group.find(id, principal)
    const fault = checkProtocolVersion(protocolVersionOf(request), session?.version)
    if (fault !== null) return refuse(400, fault)
    if (id === undefined) return refuse(400, { code: RPC_CODES.server, message: missing })
    if (session === undefined) return refuse(404, NOT_FOUND)
    exchange.addFacts({ mcp: { sessionId: session.id } })
    return session
  }

  /** Clients look here for an authorization server; without one they must hear 404. */
  #document({ exchange, attempt }: McpHttpRequest): void {
    const { documents } = this.#routing
    if (documents === null || !isDocumentRequest(exchange.request))
      attempt.answer(createTransportRefusal(404, 'not found'))
    else documents.call(exchange, attempt)
  }

  #legacy(visit: McpHttpRequest): void {
    const { method } = visit.exchange.request
    if (method === 'GET') return openLegacyStream(this, visit)
    if (method !== 'POST') return visit.attempt.answer(createMethodRefusal(['GET', 'POST']))
    this.#read(visit, (posted) => acceptLegacyPost(this, visit, posted))
  }

  /** The messages of a POST, once they are whole. */
  #read(visit: McpHttpRequest, then: (posted: PostedMessages) => void): void {
    const { exchange, attempt } = visit
    send100Continue(exchange)
    const limit = this.group.limits.maxRequestBytes
    const bounds = { maxBytes: limit, sharedBudget: this.group.bodies }
    const reader = new WholeBodyReader(attempt.body, bounds, {
      onBody: (bytes) => {
        exchange.pendingCall = null
        try {
          const posted = parsePostedMessages(bytes)
          if ('code' in posted) return attempt.answer(createRpcRefusal(400, posted))
          this.#logMessages(posted, bytes.length)
          then(posted)
        } catch (cause) {
          // The body may have come long after the head, when nobody else is there to catch it.
          this.#failUnexpectedly(visit, cause)
        }
      },
      onTooLarge: (bytes) => {
        const bound = `the limit is ${limit} bytes (config.mcp.maxRequestBytes)`
        const message = `message of ${bytes} bytes or more is too large: ${bound}`
        this.group.refusals.count('maxRequestBytes', limit)
        attempt.answer(createRpcRefusal(413, { code: RPC_CODES.invalidRequest, message }))
      },
      onNoRoom: () => {
        const { maxBytes } = this.group.bodies
        const bound = `at most ${maxBytes} bytes (config.mcp.maxReadTogether)`
        const message = `too much is being read from other clients, ${bound}: try again later`
        this.group.refusals.count('maxReadTogether', maxBytes)
        attempt.answer(createRpcRefusal(503, { code: RPC_CODES.server, message }))
      },
    })
    exchange.pendingCall = { cancel: () => reader.abandon() }
    reader.start()
  }

  #logMessages({ messages }: PostedMessages, bytes: number): void {
    const { log, key } = this.group
    if (!log.allows('debug', 'mcp')) return
    const methods = messages.map(({ method, kind }) => (method || kind).slice(0, MAX_METHOD))
    log.write('debug', 'mcp', 'received', [
      'backend',
      key,
      'methods',
      methods.join(),
      'bytes',
      bytes,
    ])
  }

  #failUnexpectedly({ exchange, attempt }: McpHttpRequest, cause: unknown): void {
    // Behind an answer, nobody else would tell.
    if (exchange.phase !== 'forward')
      this.group.log.write('error', 'mcp', 'internal error', ['cause', errorStackOf(cause)])
    attempt.fail(new GatewayError('INTERNAL', 'internal error', { cause }))
  }
}

const VERSION_MISMATCH: RpcError = {
  code: RPC_CODES.headerMismatch,
  message: 'MCP protocol version header/body mismatch',
}
