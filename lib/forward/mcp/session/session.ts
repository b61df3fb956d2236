// One client session: its targets, its open calls, and the channels that carry the responses.

import { errorStackOf } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { McpFacts } from '../../../core/facts.ts'
import type { LoggingLevel } from '../../../core/log.ts'
import type { Sweepable } from '../../../core/sweeper.ts'
import type { Attempt } from '../../../core/types.ts'
import { createAcceptedReply, createRpcRefusal, RPC_CODES } from '../json-rpc.ts'
import type { RpcError, RpcMessage } from '../json-rpc.ts'
import { HEAD_DELAY_MS, MAX_CALL_BYTES, MAX_SESSION_CALLS } from '../mcp-bounds.ts'
import type { McpGroup } from '../mcp-group.ts'
import type { TargetFailure } from '../several/gather.ts'
import { initializeTargets } from '../several/initialize.ts'
import { NameDirectory } from '../several/item-names.ts'
import { answerListRequest } from '../several/lists.ts'
import { BROADCAST_METHODS, LIST_METHODS, namesItem } from '../several/methods.ts'
import { broadcastRequest, useItem } from '../several/use-item.ts'
import type { ForwardedHeadersFor } from '../target-link.ts'
import { parseEventId, replayEvents, STANDALONE_CHANNEL } from './channel.ts'
import type { ClientChannel } from './channel.ts'
import { ClientChannels } from './channels.ts'
import type { ClientChannelsOwner } from './channels.ts'
import { ClientCall } from './client-call.ts'
import type { ClientCallOwner, McpHttpRequest } from './client-call.ts'
import { ServerNotifications } from './server-notifications.ts'
import { ClientSetup, SessionTarget } from './target.ts'
import type { SessionTargetOwner } from './target.ts'

/** `new`: the client has not sent `initialize`. `greeting`: `initialize` is not answered yet. */
type McpSessionState = 'new' | 'greeting' | 'open' | 'ended'

/** The first protocol version whose clients accept events without data. */
const PRIMING_VERSION = '2025-11-25'

/** What a session knows about its client. */
export interface SessionClient {
  readonly principal: string
  /** The principal, or the client address without authentication: the key of per-client limits. */
  readonly client: string
  readonly fields: ForwardedHeadersFor
}

export interface McpSessionOwner {
  ended(session: McpSession, reason: string): void
}

export class McpSession implements ClientCallOwner, ClientChannelsOwner, Sweepable {
  readonly id: string
  readonly group: McpGroup
  /** The client's `initialize`, which is sent at every start of a target. */
  initializeMessage: RpcMessage
  readonly targets: readonly SessionTarget[]
  readonly clientSetup = new ClientSetup()
  readonly directory = new NameDirectory()
  readonly calls = new OpenClientCalls()
  readonly started = performance.now()
  /** The principal that may use the session: see session-principal.ts. */
  readonly principal: string
  /** The key of per-client limits. */
  readonly client: string
  /** Headers of the client's latest request for remote targets. */
  fields: SessionClient['fields']
  /** The negotiated protocol version. */
  version = ''
  readonly #owner: McpSessionOwner
  readonly #notifications: ServerNotifications
  readonly #channels: ClientChannels
  #state: McpSessionState = 'new'
  #transport: 'streamable' | 'old' = 'streamable'
  /** Why the session ends after its last call; empty if it does not. */
  #retireReason = ''
  #lastNumber = 0
  /** Time of the last activity. */
  used = performance.now()
  /** The client's stand-alone stream. */
  #stream: 'none' | 'open' | 'gone' = 'none'

  constructor(
    group: McpGroup,
    initialize: RpcMessage,
    client: SessionClient,
    owner: McpSessionOwner,
  ) {
    this.id = group.newId()
    this.group = group
    this.initializeMessage = initialize
    this.fields = client.fields
    this.principal = client.principal
    this.client = client.client
    this.#owner = owner
    this.#channels = new ClientChannels(this, group.histories)
    this.#notifications = new ServerNotifications(this)
    this.targets = group.config.targets.map(
      ({ name }) => new SessionTarget(name, this.#createTargetOwner(name)),
    )
  }

  get state(): McpSessionState {
    return this.#state
  }

  get transport(): 'streamable' | 'old' {
    return this.#transport
  }

  /** A prefix of the id for the log, too short to be used as the id. */
  get label(): string {
    return this.id.slice(0, 8)
  }

  get supportsPriming(): boolean {
    return this.version >= PRIMING_VERSION
  }

  /** Counts of what the session holds; all are 0 after its end. */
  get counts(): ClientChannels['counts'] & { readonly calls: number } {
    return { calls: this.calls.size, ...this.#channels.counts }
  }

  get standalone(): ClientChannel {
    return this.#channels.standalone
  }

  get allowsResume(): boolean {
    return this.#retireReason === ''
  }

  /** No call is open. */
  get isIdle(): boolean {
    return this.#state === 'open' && this.calls.size === 0
  }

  /** The client reads its stand-alone stream. */
  get hasStream(): boolean {
    return this.#stream === 'open'
  }

  get hasOneTarget(): boolean {
    return this.targets.length === 1
  }

  target(name: string): SessionTarget | undefined {
    return this.targets.find((target) => target.name === name)
  }

  /** Starts the targets and answers `initialize`; `fields` are response headers if the session starts. */
  begin(httpRequest: McpHttpRequest, fields: ClientChannel['fields']): void {
    this.#state = 'greeting'
    this.recordFacts(httpRequest.exchange, { methodName: this.initializeMessage.method })
    const channel = this.#channelFor(httpRequest, Number.MAX_SAFE_INTEGER)
    const call = this.#addCall(this.initializeMessage, httpRequest, channel)
    initializeTargets(this, call, (isStarted) => {
      if (this.#state === 'ended') return
      this.#state = 'open'
      const versions = this.targets.flatMap(({ profile }) => profile?.version ?? [])
      this.version = versions.toSorted()[0] ?? ''
      // Later, because the caller sends its answer after this callback.
      if (!isStarted) return queueMicrotask(() => this.end('the targets did not start'))
      channel.fields = fields
      const logFields = ['backend', this.group.key, 'version', this.version]
      this.#logEvent(this.allowsResume ? 'info' : 'debug', 'session started', logFields)
    })
  }

  /** A target started after `initialize` was answered without it. */
  targetJoined(target: SessionTarget): void {
    this.#notifications.restoreTarget(target)
  }

  /** Logs the targets that are missing from a response. */
  notifyOfFailures(failures: readonly TargetFailure[]): void {
    for (const { target, reason } of failures)
      this.#logEvent('warn', 'target left out', ['target', target, 'reason', reason])
  }

  /** Serves the messages of a client without a session: each target is started when it is needed. */
  serveWithoutSession(messages: readonly RpcMessage[], httpRequest: McpHttpRequest): void {
    this.#state = 'open'
    this.#notifications.assumeInitialized()
    this.receive(messages, httpRequest)
  }

  /** Serves the transport of 2024-11-05: the stream carries every message; POSTs go to `endpoint` and get a 202. */
  serveLegacy(attempt: Attempt, endpoint: string): void {
    this.#transport = 'old'
    this.#stream = 'open'
    // The stream carries all responses and cannot be resumed, so it must not be cut.
    this.standalone.whenSlow = 'pause'
    this.standalone.eventIds = 'none'
    this.standalone.attach(attempt)
    this.standalone.sendTransportEvent(`event: endpoint\ndata: ${endpoint}\n\n`)
  }

  /** Handles `initialize` on the transport of 2024-11-05. */
  initializeLegacy(initialize: RpcMessage, httpRequest: McpHttpRequest): void {
    this.initializeMessage = initialize
    this.begin(httpRequest, [])
    httpRequest.attempt.answer(createAcceptedReply())
  }

  /** Handles the messages of one POST. */
  receive(messages: readonly RpcMessage[], httpRequest: McpHttpRequest): void {
    const { exchange, attempt } = httpRequest
    this.used = performance.now()
    this.recordFacts(exchange, { methodName: messages[0]?.method || undefined })
    const requests = messages.filter(({ kind }) => kind === 'request')
    const tooMany = this.calls.checkRoomFor(requests)
    if (tooMany !== null) {
      this.group.refusals.count('sessionCalls', MAX_SESSION_CALLS)
      return attempt.answer(createRpcRefusal(503, tooMany, requests[0]?.idText))
    }
    for (const message of messages)
      if (message.kind !== 'request') this.#notifications.receiveFromClient(message, exchange.trace)
    if (requests.length === 0) return attempt.answer(createAcceptedReply())
    const channel = this.#channelFor(httpRequest, HEAD_DELAY_MS)
    for (const call of requests.map((message) => this.#addCall(message, httpRequest, channel)))
      dispatchRequest(this, call)
    if (channel === this.standalone) attempt.answer(createAcceptedReply())
  }

  /** Handles a GET: the stand-alone stream, or the rest of a stream that broke. */
  listen(attempt: Attempt, lastEventId: string | undefined): void {
    this.used = performance.now()
    const [number, order] = parseEventId(lastEventId)
    const channel = this.#channels.find(number)
    if (channel === undefined || (lastEventId !== undefined && !channel.hasSent(order))) {
      const events = channel === undefined ? this.#channels.history.eventsAfter(number, order) : []
      if (events.length > 0) return replayEvents(attempt, events)
      const message = `unknown Last-Event-ID ${lastEventId}`
      return attempt.answer(createRpcRefusal(400, { code: RPC_CODES.server, message }))
    }
    this.#channels.readerReturned(channel)
    if (number === STANDALONE_CHANNEL) this.#stream = 'open'
    const lost =
      lastEventId === undefined ? channel.attach(attempt) : channel.resume(attempt, order)
    if (lost > 0) this.#logEvent('warn', 'events lost', ['events', lost])
    if (number === STANDALONE_CHANNEL)
      for (const target of this.targets) target.listen(this.fields(target.name))
  }

  /** Adds facts for the access log. */
  recordFacts(exchange: Exchange, facts: Partial<McpFacts>): void {
    const mcp = Object.assign({}, exchange.facts?.mcp, { sessionId: this.id }, facts)
    exchange.addFacts({ mcp })
  }

  /** Ends the session after its last call. */
  retire(reason: string): void {
    this.#retireReason = reason
    if (this.calls.size === 0) this.end(reason)
  }

  /** The process stops: closes the stand-alone stream, but on the old transport only after the last call. */
  drain(reason: string): void {
    if (this.#transport === 'old') this.retire(reason)
    else this.standalone.close()
  }

  /** Ends the session with its calls, streams and targets. */
  end(reason: string): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    const message = `the session has ended: ${reason}`
    for (const target of this.targets) target.traceSessionEnd(message)
    for (const call of this.calls) call.error({ code: RPC_CODES.server, message })
    this.standalone.close()
    for (const target of this.targets) target.close()
    this.#channels.history.close()
    this.#owner.ended(this, reason)
  }

  answered(call: ClientCall, answer: Buffer | null): void {
    this.calls.delete(call)
    const { channel } = call
    this.used = performance.now()
    if (--channel.openCalls > 0 || channel === this.standalone) {
      if (answer !== null) channel.sendMessage(answer)
    } else this.#channels.finish(channel, answer)
    if (this.#retireReason !== '' && this.calls.size === 0) this.end(this.#retireReason)
  }

  /** The client closed a stream: its calls are cancelled at the targets (demand 33). */
  channelAbandoned(channel: ClientChannel): void {
    this.used = performance.now()
    for (const call of this.calls)
      if (call.channel === channel) call.cancel('the client closed the stream')
    // The client does not know the session id before the answer to `initialize`.
    if (this.#state === 'greeting') this.end('the client disconnected before the session started')
  }

  standaloneReaderLeft(): void {
    this.used = performance.now()
    this.#stream = 'gone'
    if (this.#transport === 'old') this.end('the client closed the stream')
  }

  readersTooSlow(): void {
    for (const target of this.targets) target.pause()
  }

  readersCaughtUp(): void {
    for (const target of this.targets) target.resume()
  }

  sweep(now: number): void {
    try {
      this.#sweep(now)
    } catch (error) {
      this.#logUnexpectedError(error)
    }
  }

  #sweep(now: number): void {
    const { keepAlive, sessionTtl, goneTtl } = this.group.limits
    this.#channels.sweep(now, keepAlive)
    if (this.calls.size > 0 || this.#stream === 'open') return
    const idle = now - this.used
    if (idle > sessionTtl) this.end('idle')
    else if (this.#stream === 'gone' && idle > goneTtl) this.end('the client disconnected')
  }

  #channelFor({ exchange, attempt }: McpHttpRequest, headDelay: number): ClientChannel {
    if (this.#transport === 'old') return this.standalone
    const channel = this.#channels.open(attempt, headDelay)
    exchange.pendingCall = { cancel: () => channel.abandon() }
    return channel
  }

  #addCall(message: RpcMessage, httpRequest: McpHttpRequest, channel: ClientChannel): ClientCall {
    const call = new ClientCall(message, httpRequest, channel, this)
    this.calls.add(call)
    channel.openCalls++
    return call
  }

  #createTargetOwner(name: string): SessionTargetOwner {
    return {
      session: this,
      label: this.label,
      initializeMessage: () => this.initializeMessage,
      startTimeout: this.group.limits.startTimeout,
      fields: () => this.fields(name),
      nextNumber: () => ++this.#lastNumber,
      openLink: (targetName, owner) => this.group.openLink(targetName, owner, this.client),
      messageReceived: (target, message, number) =>
        this.#notifications.receiveFromTarget(target, message, number),
      targetRestarted: (target, trace) => this.#notifications.restoreTarget(target, trace),
      targetDown: (target, reason, fault) => this.#targetDown(target, reason, fault),
      targetResponded: (target) => this.group.clearTargetFault(target.name),
      unexpectedError: (error) => this.#logUnexpectedError(error),
    }
  }

  #logUnexpectedError(error: unknown): void {
    this.group.log.write('error', 'mcp', 'internal error', ['cause', errorStackOf(error)])
    this.end('internal error')
  }

  #targetDown(target: SessionTarget, reason: string, fault: 'client' | 'target'): void {
    if (this.#state === 'ended') return
    if (fault === 'target') this.group.recordTargetFault(target.name, reason)
    this.#logEvent('warn', 'target down', ['target', target.name, 'reason', reason])
    this.#notifications.dropTarget(target)
    if (this.targets.every(({ state }) => state === 'lost')) queueMicrotask(() => this.end(reason))
  }

  #logEvent(level: LoggingLevel, message: string, fields: (string | number)[]): void {
    this.group.log.write(level, 'mcp', message, ['mcp.session.id', this.label, ...fields])
  }
}

/** The calls of a session that wait for an answer, with their size in bytes. */
export class OpenClientCalls implements Iterable<ClientCall> {
  readonly #open = new Set<ClientCall>()
  #bytes = 0

  get size(): number {
    return this.#open.size
  }

  add(call: ClientCall): void {
    this.#open.add(call)
    this.#bytes += call.message.bytes.length
  }

  delete(call: ClientCall): void {
    if (this.#open.delete(call)) this.#bytes -= call.message.bytes.length
  }

  /** Returns an error if these requests would exceed a bound. */
  checkRoomFor(requests: readonly RpcMessage[]): RpcError | null {
    if (this.#open.size + requests.length > MAX_SESSION_CALLS)
      return {
        code: RPC_CODES.server,
        message: `more than ${MAX_SESSION_CALLS} calls wait for an answer`,
      }
    const bytes = requests.reduce((sum, message) => sum + message.bytes.length, this.#bytes)
    if (bytes <= MAX_CALL_BYTES) return null
    const message = `calls of more than ${MAX_CALL_BYTES} bytes wait for an answer`
    return { code: RPC_CODES.server, message }
  }

  [Symbol.iterator](): Iterator<ClientCall> {
    return this.#open.values()
  }
}

/** Sends a request to the target that owns the named item, to all targets, or to the only one. */
function dispatchRequest(session: McpSession, call: ClientCall): void {
  const { method } = call.message
  if (LIST_METHODS.has(method)) return answerListRequest(session, call)
  if (namesItem(method)) return useItem(session, call)
  const [target, ...others] = session.targets
  if (others.length === 0) return passToTarget(session, call, target!)
  if (BROADCAST_METHODS.has(method)) return broadcastRequest(session, call)
  call.error({ code: RPC_CODES.methodNotFound, message: `Method not found: ${method}` })
}

function passToTarget(session: McpSession, call: ClientCall, target: SessionTarget): void {
  const { message } = call
  call.sendToTarget(target, (idText) => message.withId(idText), {
    answered: (answer) => {
      if (answer.result !== null) session.clientSetup.remember(message, target, [])
      call.answer(answer.withId(call.idText))
    },
    failed: (reason, reply, code) => call.failed(target.name, reason, reply, code),
  })
}
