// An MCP backend of a route: Streamable HTTP on whatever path leads here, and the older transport on `/sse`.

import { addressKey } from '../../base/bounds/address-key.ts'
import { GatewayError, stackOf } from '../../base/errors.ts'
import type { Exchange } from '../../base/exchange.ts'
import { WholeReader } from '../../base/read-whole.ts'
import type { Attempt, Backend } from '../../base/types.ts'
import { letContinue } from '../let-continue.ts'
import { LEGACY_PATH, legacyGet, legacyPost } from './endpoint/legacy.ts'
import { batchFault, messagesIn } from './endpoint/messages.ts'
import type { Posted } from './endpoint/messages.ts'
import { rebindingFault } from './endpoint/rebinding.ts'
import type { Protection } from './endpoint/rebinding.ts'
import { routingFault } from './endpoint/routing-headers.ts'
import { stateless } from './endpoint/stateless.ts'
import { getFault, methodFault, postFault, refused, repeatedFault } from './endpoint/transport.ts'
import { versionFault, versionOf } from './endpoint/versions.ts'
import { asksDocument } from './endpoint/well-known.ts'
import type { Group } from './group.ts'
import type { Message } from './message.ts'
import { principalOf } from './principal.ts'
import { sentFields, transformed } from './remote/fields.ts'
import type { Credentials } from './remote/fields.ts'
import { accepted, CODES, refusal } from './rpc.ts'
import type { RpcError } from './rpc.ts'
import type { About } from './session/about.ts'
import type { Visit } from './session/call.ts'
import type { Session } from './session/session.ts'
import type { FieldsFor } from './types.ts'
import type { Rule } from '../../base/cel/rules.ts'

export interface McpRouting {
  readonly rules: readonly Rule[]
  readonly protection: Protection
  /** Whether the client's own credentials are meant for the targets. */
  readonly credentials: Credentials
  /** Who knows about authorization when it is the only target's own business. */
  readonly documents: Backend | null
}

const SESSION_ID = 'mcp-session-id'
/** Of a method's name, in the log. */
const MAX_METHOD = 64
const NOT_FOUND = { code: CODES.noSession, message: 'session not found' } as const

export class McpBackend implements Backend {
  readonly endpoint: string
  readonly group: Group
  readonly #routing: McpRouting

  constructor(group: Group, routing: McpRouting) {
    this.group = group
    this.endpoint = group.config.targets.map(({ name }) => name).join(',')
    this.#routing = routing
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { request } = exchange
    const visit = { exchange, attempt, rules: this.#routing.rules }
    exchange.learn({ mcp: {} })
    const fault = rebindingFault(exchange, this.#routing.protection)
    if (fault !== null) {
      exchange.trace?.refused('dnsRebindingProtection', 403, fault)
      return attempt.answer(refused(403, fault))
    }
    if (request.path === LEGACY_PATH) return this.#legacy(visit)
    if (request.path.includes('/.well-known/')) return this.#document(visit)
    const twice = repeatedFault(request)
    if (twice !== null) return attempt.answer(twice)
    if (request.method === 'POST') return this.#post(visit)
    if (this.group.config.statefulMode === 'stateless') return attempt.answer(methodFault(['POST']))
    if (request.method === 'GET') this.#get(visit)
    else if (request.method === 'DELETE') this.#delete(visit)
    else attempt.answer(methodFault(['GET', 'POST', 'DELETE']))
  }

  about(exchange: Exchange): About {
    const principal = principalOf(exchange.facts)
    const client = principal || addressKey(exchange.source.address)
    return { principal, client, fields: this.fieldsOf(exchange) }
  }

  /** What remote targets may know of the client. */
  fieldsOf(exchange: Exchange): FieldsFor {
    if (!this.group.isRemote) return () => []
    const fields = sentFields(exchange.request, this.#routing.credentials)
    // Those were verified here and taken off the request.
    const shown = exchange.credentials
      .filter(({ kind }) => kind === 'header')
      .map(({ name, text }) => [name, text, 'passthrough'] as const)
    return transformed([...fields, ...shown], this.group.config.targets, exchange)
  }

  #get(visit: Visit): void {
    const { request } = visit.exchange
    const fault = getFault(request)
    if (fault !== null) return visit.attempt.answer(fault)
    const session = this.#sessionOf(visit, 'session ID is required')
    if (session === null) return
    session.fields = this.fieldsOf(visit.exchange)
    // An empty one is what a browser says that has seen none.
    session.listen(visit.attempt, request.get('last-event-id') || undefined)
  }

  #delete(visit: Visit): void {
    const session = this.#sessionOf(visit, 'session ID is required')
    if (session === null) return
    session.end('deleted by its client')
    visit.attempt.answer(accepted())
  }

  #post(visit: Visit): void {
    const fault = postFault(visit.exchange.request)
    if (fault !== null) return visit.attempt.answer(fault)
    this.#read(visit, (posted) => {
      const [first] = posted.messages
      const mismatch = posted.isBatch ? null : routingFault(visit.exchange.request, first!)
      if (mismatch !== null) return visit.attempt.answer(refusal(400, mismatch, first!.idText))
      if (this.group.config.statefulMode === 'stateless') return stateless(this, visit, posted)
      if (first?.kind === 'request' && first.method === 'initialize') this.#initialize(visit, first)
      else this.#pass(visit, posted)
    })
  }

  #initialize(visit: Visit, message: Message): void {
    const { exchange, attempt } = visit
    const { request } = exchange
    const refuse = (status: number, error: RpcError): void =>
      attempt.answer(refusal(status, error, message.idText))
    const id = request.get(SESSION_ID)
    if (id !== undefined && this.group.find(id, principalOf(exchange.facts)) === undefined)
      return refuse(404, NOT_FOUND)
    if (id !== undefined)
      return refuse(400, { code: CODES.invalidRequest, message: 'the session is initialized' })
    const version = versionOf(request)
    const asked = message.textParam('protocolVersion')
    const fault = versionFault(version)
    if (fault !== null) return refuse(400, fault)
    if (version !== undefined && version !== asked) return refuse(400, MISMATCH)
    const session = this.group.begin(message, this.about(exchange))
    if (typeof session === 'string') return refuse(503, { code: CODES.server, message: session })
    session.begin(visit, [[SESSION_ID, session.id]])
    this.group.begun(session)
  }

  #pass(visit: Visit, posted: Posted): void {
    const missing = 'session header is required for non-initialize requests'
    const idText = posted.messages[0]?.idText
    const session = this.#sessionOf(visit, missing, idText)
    if (session === null) return
    const said = versionOf(visit.exchange.request) ?? session.version
    const fault = batchFault(posted, session.version) ?? batchFault(posted, said)
    if (fault !== null) return visit.attempt.answer(refusal(400, fault))
    session.fields = this.fieldsOf(visit.exchange)
    session.receive(posted.messages, visit)
  }

  /** The session a request names; if there is none it has been answered. */
  #sessionOf({ exchange, attempt }: Visit, missing: string, idText = 'null'): Session | null {
    const { request } = exchange
    const id = request.get(SESSION_ID)
    const refuse = (status: number, error: RpcError): null => {
      attempt.answer(refusal(status, error, idText))
      return null
    }
    const principal = principalOf(exchange.facts)
    const session = id === undefined ? undefined : this.group.find(id, principal)
    const fault = versionFault(versionOf(request), session?.version)
    if (fault !== null) return refuse(400, fault)
    if (id === undefined) return refuse(400, { code: CODES.server, message: missing })
    if (session === undefined) return refuse(404, NOT_FOUND)
    exchange.learn({ mcp: { sessionId: session.id } })
    return session
  }

  /** Clients look here for an authorization server; without one they must hear 404. */
  #document({ exchange, attempt }: Visit): void {
    const { documents } = this.#routing
    if (documents === null || !asksDocument(exchange.request))
      attempt.answer(refused(404, 'not found'))
    else documents.call(exchange, attempt)
  }

  #legacy(visit: Visit): void {
    const { method } = visit.exchange.request
    if (method === 'GET') return legacyGet(this, visit)
    if (method !== 'POST') return visit.attempt.answer(methodFault(['GET', 'POST']))
    this.#read(visit, (posted) => legacyPost(this, visit, posted))
  }

  /** The messages of a POST, once they are whole. */
  #read(visit: Visit, then: (posted: Posted) => void): void {
    const { exchange, attempt } = visit
    letContinue(exchange)
    const limit = this.group.limits.maxRequestBytes
    const bounds = { most: limit, together: this.group.bodies }
    const reader = new WholeReader(attempt.body, bounds, {
      read: (bytes) => {
        exchange.call = null
        try {
          const posted = messagesIn(bytes)
          if ('code' in posted) return attempt.answer(refusal(400, posted))
          this.#tell(posted, bytes.length)
          then(posted)
        } catch (cause) {
          // The body may have come long after the head, when nobody else is there to catch it.
          this.#broke(visit, cause)
        }
      },
      tooLarge: (bytes) => {
        const bound = `the limit is ${limit} bytes (config.mcp.maxRequestBytes)`
        const message = `message of ${bytes} bytes or more is too large: ${bound}`
        this.group.refusals.count('maxRequestBytes', limit)
        attempt.answer(refusal(413, { code: CODES.invalidRequest, message }))
      },
      noRoom: () => {
        const { most } = this.group.bodies
        const bound = `at most ${most} bytes (config.mcp.maxReadTogether)`
        const message = `too much is being read from other clients, ${bound}: try again later`
        this.group.refusals.count('maxReadTogether', most)
        attempt.answer(refusal(503, { code: CODES.server, message }))
      },
    })
    exchange.call = { cancel: () => reader.abandon() }
    reader.start()
  }

  #tell({ messages }: Posted, bytes: number): void {
    const { log, key } = this.group
    if (!log.allows('debug', 'mcp')) return
    const methods = messages.map(({ method, kind }) => (method || kind).slice(0, MAX_METHOD))
    log.line('debug', 'mcp', 'received', [
      'backend',
      key,
      'methods',
      methods.join(),
      'bytes',
      bytes,
    ])
  }

  #broke({ exchange, attempt }: Visit, cause: unknown): void {
    // Behind an answer, nobody else would tell.
    if (exchange.phase !== 'forward')
      this.group.log.line('error', 'mcp', 'internal error', ['cause', stackOf(cause)])
    attempt.fail(new GatewayError('INTERNAL', 'internal error', { cause }))
  }
}

const MISMATCH: RpcError = {
  code: CODES.headerMismatch,
  message: 'MCP protocol version header/body mismatch',
}
