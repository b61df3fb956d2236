// One client's session: its targets, its calls, and the channels on which it is answered.

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

/** `new`: its client has not sent `initialize`. `greeting`: no target has answered it yet. */
type McpSessionState = 'new' | 'greeting' | 'open' | 'ended'

/** The first version whose clients know events without data. */
const PRIMING_VERSION = '2025-11-25'

export class McpSession implements ClientCallOwner, ClientChannelsOwner, Sweepable {
  readonly id: string
  readonly group: McpGroup
  /** The client's `initialize`, with which every start of a target begins. */
  initializeMessage: RpcMessage
  readonly targets: readonly SessionTarget[]
  readonly clientSetup = new ClientSetup()
  readonly directory = new NameDirectory()
  readonly calls = new OpenClientCalls()
  readonly started = performance.now()
  /** Who may use it: see principal.ts. */
  readonly principal: string
  /** Whose share of child processes it has. */
  readonly client: string
  /** What remote targets hear of the client's latest request. */
  fields: SessionClient['fields']
  /** As targets and client agreed. */
  version = ''
  readonly #owner: McpSessionOwner
  readonly #notifications: ServerNotifications
  readonly #channels: ClientChannels
  #state: McpSessionState = 'new'
  #transport: 'streamable' | 'old' = 'streamable'
  /** Why it ends with its last call, or ''. */
  #retireReason = ''
  #lastNumber = 0
  used = performance.now()
  /** What became of the client's stand-alone stream. */
  #stream: 'none' | 'open' | 'gone' = 'none'

  constructor(group: McpGroup, greeting: RpcMessage, about: SessionClient, owner: McpSessionOwner) {
    this.id = group.newId()
    this.group = group
    this.initializeMessage = greeting
    this.fields = about.fields
    this.principal = about.principal
    this.client = about.client
    this.#owner = owner
    this.#channels = new ClientChannels(this, group.histories)
    this.#notifications = new ServerNotifications(this)
    this.targets = group.config.targets.map(
      ({ name }) => new SessionTarget(name, this.#targetOwner(name)),
    )
  }

  get state(): McpSessionState {
    return this.#state
  }

  get transport(): 'streamable' | 'old' {
    return this.#transport
  }

  /** For the log: enough to tell sessions apart, too little to use one. */
  get label(): string {
    return this.id.slice(0, 8)
  }

  get supportsPriming(): boolean {
    return this.version >= PRIMING_VERSION
  }

  /** What it holds; nothing of it once it has ended. */
  get counts(): ClientChannels['counts'] & { readonly calls: number } {
    return { calls: this.calls.size, ...this.#channels.counts }
  }

  /** The stand-alone channel. */
  get standalone(): ClientChannel {
    return this.#channels.standalone
  }

  get allowsResume(): boolean {
    return this.#retireReason === ''
  }

  get hasOneTarget(): boolean {
    return this.targets.length === 1
  }

  target(name: string): SessionTarget | undefined {
    return this.targets.find((target) => target.name === name)
  }

  /** Answers the `initialize` it was made for; `fields` go out with a session that came about. */
  begin(visit: McpHttpRequest, fields: ClientChannel['fields']): void {
    this.#state = 'greeting'
    this.recordFacts(visit.exchange, { methodName: this.initializeMessage.method })
    const channel = this.#channelFor(visit, Number.MAX_SAFE_INTEGER)
    const call = this.#add(this.initializeMessage, visit, channel)
    initializeTargets(this, call, (isThere) => {
      if (this.#state === 'ended') return
      this.#state = 'open'
      this.version = this.#agreedVersion()
      if (isThere) return this.#begun(channel, fields)
      // The caller still has its answer to give.
      queueMicrotask(() => this.end('its targets did not come up'))
    })
  }

  #begun(channel: ClientChannel, sent: ClientChannel['fields']): void {
    channel.fields = sent
    const fields = ['backend', this.group.key, 'version', this.version]
    this.#logEvent(this.allowsResume ? 'info' : 'debug', 'session started', fields)
  }

  /** A target that came up after the others had answered for all. */
  targetJoined(target: SessionTarget): void {
    this.#notifications.restoreTarget(target)
  }

  /** Targets whose part is missing from an answer. */
  notifyOfFailures(failures: readonly TargetFailure[]): void {
    for (const { target, reason } of failures)
      this.#logEvent('warn', 'target left out', ['target', target, 'reason', reason])
  }

  /** Messages of a client that has no session: each target is started when it is needed. */
  serveWithoutSession(messages: readonly RpcMessage[], visit: McpHttpRequest): void {
    this.#state = 'open'
    this.#notifications.assumeInitialized()
    this.receive(messages, visit)
  }

  /** The transport of 2024-11-05: this stream brings everything, and POSTs to `endpoint` are merely accepted. */
  serveLegacy(attempt: Attempt, endpoint: string): void {
    this.#transport = 'old'
    this.#stream = 'open'
    // Everything comes by it, and there is no other way to the rest.
    this.standalone.whenSlow = 'press'
    this.standalone.eventIds = 'none'
    this.standalone.attach(attempt)
    this.standalone.sendTransportEvent(`event: endpoint\ndata: ${endpoint}\n\n`)
  }

  /** The `initialize` of such a client. */
  initializeLegacy(greeting: RpcMessage, visit: McpHttpRequest): void {
    this.initializeMessage = greeting
    this.begin(visit, [])
    visit.attempt.answer(createAcceptedReply())
  }

  /** Messages of one POST. */
  receive(messages: readonly RpcMessage[], visit: McpHttpRequest): void {
    const { exchange, attempt } = visit
    this.used = performance.now()
    this.recordFacts(exchange, { methodName: messages[0]?.method || undefined })
    const requests = messages.filter(({ kind }) => kind === 'request')
    const full = this.calls.checkRoomFor(requests)
    if (full !== null) {
      this.group.refusals.count('sessionCalls', MAX_SESSION_CALLS)
      return attempt.answer(createRpcRefusal(503, full, requests[0]?.idText))
    }
    for (const one of messages)
      if (one.kind !== 'request') this.#notifications.receiveFromClient(one, exchange.trace)
    if (requests.length === 0) return attempt.answer(createAcceptedReply())
    const channel = this.#channelFor(visit, HEAD_DELAY_MS)
    for (const call of requests.map((message) => this.#add(message, visit, channel)))
      dispatchRequest(this, call)
    if (channel === this.standalone) attempt.answer(createAcceptedReply())
  }

  /** A GET: the stand-alone stream, or the rest of one that broke. */
  listen(attempt: Attempt, lastEventId: string | undefined): void {
    this.used = performance.now()
    const [number, order] = parseEventId(lastEventId)
    const channel = this.#channels.find(number)
    if (channel === undefined || (lastEventId !== undefined && !channel.hasSent(order))) {
      const events = channel === undefined ? this.#channels.history.eventsAfter(number, order) : []
      if (events.length > 0) return replayEvents(attempt, events)
      const message = `nothing is known of Last-Event-ID ${lastEventId}`
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

  /** Facts for the log. */
  recordFacts(exchange: Exchange, more: Partial<McpFacts>): void {
    exchange.addFacts({ mcp: Object.assign({}, exchange.facts?.mcp, { sessionId: this.id }, more) })
  }

  /** It ends with its last call. */
  retire(reason: string): void {
    this.#retireReason = reason
    if (this.calls.size === 0) this.end(reason)
  }

  /** The process stops: what would never end by itself does. An old client has its answers by that stream, too. */
  drain(reason: string): void {
    if (this.#transport === 'old') this.retire(reason)
    else this.standalone.close()
  }

  /** Ends everything that belongs to it. */
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

  /** The client closed a stream: the targets hear that nobody waits (demand 33). */
  channelAbandoned(channel: ClientChannel): void {
    this.used = performance.now()
    for (const call of this.calls)
      if (call.channel === channel) call.cancel('the client closed the stream')
    // Without its first answer there is no session to come back to.
    if (this.#state === 'greeting') this.end('its client left before it began')
  }

  standaloneReaderLeft(): void {
    this.used = performance.now()
    this.#stream = 'gone'
    if (this.#transport === 'old') this.end('its client closed the stream')
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
    else if (this.#stream === 'gone' && idle > goneTtl) this.end('its client is gone')
  }

  #channelFor({ exchange, attempt }: McpHttpRequest, patience: number): ClientChannel {
    if (this.#transport === 'old') return this.standalone
    const channel = this.#channels.open(attempt, patience)
    exchange.pendingCall = { cancel: () => channel.abandon() }
    return channel
  }

  #add(message: RpcMessage, visit: McpHttpRequest, channel: ClientChannel): ClientCall {
    const call = new ClientCall(message, visit, channel, this)
    this.calls.add(call)
    channel.openCalls++
    return call
  }

  #agreedVersion(): string {
    const versions = this.targets.flatMap(({ profile }) => profile?.version ?? [])
    return versions.toSorted()[0] ?? ''
  }

  #targetOwner(name: string): SessionTargetOwner {
    return {
      label: this.label,
      initializeMessage: () => this.initializeMessage,
      startTimeout: this.group.limits.startTimeout,
      fields: () => this.fields(name),
      nextNumber: () => ++this.#lastNumber,
      openLink: (one, owner) => this.group.openLink(one, owner),
      messageReceived: (target, message, number) =>
        this.#notifications.receiveFromTarget(target, message, number),
      targetRestarted: (target, trace) => this.#notifications.restoreTarget(target, trace),
      targetDown: (target, reason, whose) => this.#targetDown(target, reason, whose),
      targetResponded: (target) => this.group.clearTargetFault(target.name),
      unexpectedError: (error) => this.#logUnexpectedError(error),
    }
  }

  #logUnexpectedError(error: unknown): void {
    this.group.log.write('error', 'mcp', 'internal error', ['cause', errorStackOf(error)])
    this.end('internal error')
  }

  #targetDown(target: SessionTarget, reason: string, whose: 'client' | 'target'): void {
    if (this.#state === 'ended') return
    if (whose === 'target') this.group.recordTargetFault(target.name, reason)
    this.#logEvent('warn', 'target down', ['target', target.name, 'reason', reason])
    this.#notifications.dropTarget(target)
    if (this.targets.every(({ state }) => state === 'lost')) queueMicrotask(() => this.end(reason))
  }

  #logEvent(level: LoggingLevel, message: string, fields: (string | number)[]): void {
    this.group.log.write(level, 'mcp', message, ['mcp.session.id', this.label, ...fields])
  }
}

// What a session knows of its client, and whom it tells that it is over.

export interface SessionClient {
  readonly principal: string
  /** The same or, where nobody is authenticated, where it comes from. */
  readonly client: string
  readonly fields: ForwardedHeadersFor
}

export interface McpSessionOwner {
  /** It is over, for this reason. */
  ended(session: McpSession, reason: string): void
}

// The calls of a session that wait for an answer, and how much they hold.

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

  /** Why these cannot wait as well, or null. */
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

// Where a client's request goes: to the target that owns what it names, to all of them, or to the only one.

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
    failed: (reason, reply) => call.failed(reason, reply, target.name),
  })
}
