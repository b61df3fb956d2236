// An MCP backend of a route: Streamable HTTP on every path that the route matches, and HTTP+SSE on `/sse`.

import { addressKeyOf } from '../../core/addresses.ts'
import { errorStackOf, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Attempt, Backend } from '../../core/types.ts'
import type { AuthorizationRule } from '../../expressions/rules.ts'
import { WholeBodyReader } from '../../http/read-whole-body.ts'
import { checkRebinding } from '../cross-site-checks.ts'
import type { RebindingProtection } from '../cross-site-checks.ts'
import { send100Continue } from '../backend-attempt.ts'
import {
  checkBatch,
  checkGetRequest,
  checkPostRequest,
  checkProtocolVersion,
  checkRepeatedHeaders,
  checkRoutingHeaders,
  createMethodRefusal,
  createTransportRefusal,
  parsePostedMessages,
  protocolVersionOf,
} from './endpoint/request-checks.ts'
import type { PostedMessages } from './endpoint/request-checks.ts'
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
  /** `mcpAuthorization` of the route and of the backend. */
  readonly ruleSets: readonly (readonly AuthorizationRule[])[]
  readonly protection: RebindingProtection
  /** Whether the client's own credentials are forwarded to the targets. */
  readonly credentials: CredentialForwarding
  /** Serves the authorization metadata when the only target does its own authorization. */
  readonly documents: Backend | null
}

const SESSION_ID = 'mcp-session-id'
/** Characters of a method name in the log. */
const MAX_METHOD = 64
const NOT_FOUND = { code: RPC_CODES.noSession, message: 'session not found' } as const
const VERSION_MISMATCH: RpcError = {
  code: RPC_CODES.headerMismatch,
  message: 'MCP protocol version header/body mismatch',
}

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
    const httpRequest = { exchange, attempt, ruleSets: this.#routing.ruleSets }
    exchange.addFacts({ mcp: {} })
    exchange.addSecrets(this.group.secrets)
    const fault = checkRebinding(exchange, this.#routing.protection)
    if (fault !== null) {
      exchange.trace?.recordRefusal('dnsRebindingProtection', 403, fault)
      return attempt.answer(createTransportRefusal(403, fault))
    }
    if (request.path === LEGACY_PATH) return this.#serveLegacy(httpRequest)
    if (request.path.includes('/.well-known/')) return this.#serveDocument(httpRequest)
    const repeated = checkRepeatedHeaders(request)
    if (repeated !== null) return attempt.answer(repeated)
    if (request.method === 'POST') return this.#post(httpRequest)
    if (this.group.config.statefulMode === 'stateless')
      return attempt.answer(createMethodRefusal(['POST']))
    if (request.method === 'GET') this.#get(httpRequest)
    else if (request.method === 'DELETE') this.#delete(httpRequest)
    else attempt.answer(createMethodRefusal(['GET', 'POST', 'DELETE']))
  }

  describeClient(exchange: Exchange): SessionClient {
    const principal = principalOf(exchange.facts)
    const client = principal || addressKeyOf(exchange.source.address)
    return { principal, client, fields: this.clientHeadersFor(exchange) }
  }

  /** The client headers that remote targets get. */
  clientHeadersFor(exchange: Exchange): ForwardedHeadersFor {
    if (!this.group.isRemote) return () => []
    const fields = selectForwardedHeaders(exchange.request, this.#routing.credentials)
    // Credentials that the gateway verified were removed from the request.
    const credentials = exchange.enforcement.verifiedCredentials
      .filter(({ kind }) => kind === 'header')
      .map(({ name, text }) => [name, text, 'passthrough'] as const)
    return transformForwardedHeaders(
      [...fields, ...credentials],
      this.group.config.targets,
      exchange,
    )
  }

  #get(httpRequest: McpHttpRequest): void {
    const { request } = httpRequest.exchange
    const fault = checkGetRequest(request)
    if (fault !== null) return httpRequest.attempt.answer(fault)
    const session = this.#findSession(httpRequest, 'session ID is required')
    if (session === null) return
    session.fields = this.clientHeadersFor(httpRequest.exchange)
    // Browsers send an empty Last-Event-ID when they have received no event.
    session.listen(httpRequest.attempt, request.get('last-event-id') || undefined)
  }

  #delete(httpRequest: McpHttpRequest): void {
    const session = this.#findSession(httpRequest, 'session ID is required')
    if (session === null) return
    session.end('deleted by the client')
    httpRequest.attempt.answer(createAcceptedReply())
  }

  #post(httpRequest: McpHttpRequest): void {
    const fault = checkPostRequest(httpRequest.exchange.request)
    if (fault !== null) return httpRequest.attempt.answer(fault)
    this.#readMessages(httpRequest, (posted) => {
      const [first] = posted.messages
      const mismatch = posted.isBatch
        ? null
        : checkRoutingHeaders(httpRequest.exchange.request, first!)
      if (mismatch !== null)
        return httpRequest.attempt.answer(createRpcRefusal(400, mismatch, first!.idText))
      if (this.group.config.statefulMode === 'stateless')
        return serveStatelessRequest(this, httpRequest, posted)
      if (first?.kind === 'request' && first.method === 'initialize')
        this.#initialize(httpRequest, first)
      else this.#forwardMessages(httpRequest, posted)
    })
  }

  #initialize(httpRequest: McpHttpRequest, message: RpcMessage): void {
    const { exchange, attempt } = httpRequest
    const { request } = exchange
    const refuse = (status: number, error: RpcError): void =>
      attempt.answer(createRpcRefusal(status, error, message.idText))
    const id = request.get(SESSION_ID)
    if (id !== undefined && this.group.find(id, principalOf(exchange.facts)) === undefined)
      return refuse(404, NOT_FOUND)
    if (id !== undefined)
      return refuse(400, {
        code: RPC_CODES.invalidRequest,
        message: 'the session is already initialized',
      })
    const version = protocolVersionOf(request)
    const requestedVersion = message.textParam('protocolVersion')
    const fault = checkProtocolVersion(version)
    if (fault !== null) return refuse(400, fault)
    if (version !== undefined && version !== requestedVersion) return refuse(400, VERSION_MISMATCH)
    const session = this.group.beginSession(message, this.describeClient(exchange))
    if (typeof session === 'string')
      return refuse(503, { code: RPC_CODES.server, message: session })
    session.begin(httpRequest, [[SESSION_ID, session.id]])
    this.group.sessionBegun(session)
  }

  #forwardMessages(httpRequest: McpHttpRequest, posted: PostedMessages): void {
    const missing = 'session header is required for non-initialize requests'
    const idText = posted.messages[0]?.idText
    const session = this.#findSession(httpRequest, missing, idText)
    if (session === null) return
    const version = protocolVersionOf(httpRequest.exchange.request) ?? session.version
    const fault = checkBatch(posted, session.version) ?? checkBatch(posted, version)
    if (fault !== null) return httpRequest.attempt.answer(createRpcRefusal(400, fault))
    session.fields = this.clientHeadersFor(httpRequest.exchange)
    session.receive(posted.messages, httpRequest)
  }

  /** Returns the session that the request names; answers the request and returns null if there is none. */
  #findSession(
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

  /** Clients look here for an authorization server; without one the answer must be 404. */
  #serveDocument({ exchange, attempt }: McpHttpRequest): void {
    const { documents } = this.#routing
    if (documents === null || !isDocumentRequest(exchange.request))
      attempt.answer(createTransportRefusal(404, 'not found'))
    else documents.call(exchange, attempt)
  }

  #serveLegacy(httpRequest: McpHttpRequest): void {
    const { method } = httpRequest.exchange.request
    if (method === 'GET') return openLegacyStream(this, httpRequest)
    if (method !== 'POST') return httpRequest.attempt.answer(createMethodRefusal(['GET', 'POST']))
    this.#readMessages(httpRequest, (posted) => acceptLegacyPost(this, httpRequest, posted))
  }

  /** Reads the whole body of a POST and parses its messages. */
  #readMessages(httpRequest: McpHttpRequest, then: (posted: PostedMessages) => void): void {
    const { exchange, attempt } = httpRequest
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
          // The body may arrive long after the head, when no caller is left to catch the error.
          this.#failUnexpectedly(httpRequest, cause)
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
        const message = `too many request bytes are being read, ${bound}: try again later`
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
    // After the answer was sent, attempt.fail() reports nothing.
    if (exchange.phase !== 'forward')
      this.group.log.write('error', 'mcp', 'internal error', ['cause', errorStackOf(cause)])
    attempt.fail(new GatewayError('INTERNAL', 'internal error', { cause }))
  }
}
