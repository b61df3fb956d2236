// One target in one session: its start, its requests, and its restarts within bounds after a failure.

import type { Trace } from '../../../core/trace-events.ts'
import type { Reply } from '../../../core/types.ts'
import type { JsonEdit } from '../../../text/json-edit.ts'
import { encodeCancelledNotification } from '../json-rpc.ts'
import type { RpcCode, RpcMessage } from '../json-rpc.ts'
import {
  MAX_RESTARTS,
  MAX_SUBSCRIPTIONS,
  RESTART_DELAYS_MS,
  RESTARTS_RESET_MS,
} from '../mcp-bounds.ts'
import { traceMessage } from '../target-link.ts'
import type {
  ForwardedHeaders,
  TargetLink,
  TargetLinkOwner,
  TracedMessage,
} from '../target-link.ts'

/** Waits for a target's answer; exactly one of the two methods is called, once. */
export interface TargetResponseWaiter {
  /** The trace of the client's request, if it is traced. */
  readonly trace?: Trace | null | undefined
  answered(message: RpcMessage): void
  /**
   * `reply` is the HTTP error of a remote target, if any; it must be relayed or cancelled. `code` is that of the error for
   * the client.
   */
  failed(reason: string, reply: Reply | null, code?: RpcCode): void
}

/** The session, as its targets see it. */
export interface SessionTargetOwner {
  /** The session, which tells its children from those of others; labels may be equal. */
  readonly session: object
  /** Identifies the session in the log. */
  readonly label: string
  /** The client's `initialize`, which is sent at every start. */
  initializeMessage(): RpcMessage
  readonly startTimeout: number
  /** Headers of the client's latest request for this target. */
  fields(): ForwardedHeaders
  /** Returns a request number that is unique in the session. */
  nextNumber(): number
  /** Opens a link, or returns the reason why the gateway does not. */
  openLink(name: string, owner: TargetLinkOwner): TargetLink | string
  /** A notification or request of the target. `number` is the request whose response carried it, or 0. */
  messageReceived(target: SessionTarget, message: RpcMessage, number: number): void
  /** The target answered `initialize` after a restart; `trace` is that of the request that caused it. */
  targetRestarted(target: SessionTarget, trace: Trace | null): void
  /** `fault` is `client` when a remote target refused the client's request, which is no fault of the target. */
  targetDown(target: SessionTarget, reason: string, fault: 'client' | 'target'): void
  /** The target sent a message or a refusal, so it is alive. */
  targetResponded(target: SessionTarget): void
  unexpectedError(error: unknown): void
}

/** `fresh`: never started. `down`: may be restarted. `lost`: will not be restarted. */
type SessionTargetState = 'fresh' | 'starting' | 'ready' | 'down' | 'lost' | 'closed'

const SESSION_TARGET_TRANSITIONS: Record<SessionTargetState, readonly SessionTargetState[]> = {
  fresh: ['starting', 'closed'],
  starting: ['ready', 'down', 'lost', 'closed'],
  ready: ['starting', 'down', 'lost', 'closed'],
  down: ['starting', 'lost', 'closed'],
  lost: ['closed'],
  closed: [],
}

interface PendingTargetRequest {
  readonly waiter: TargetResponseWaiter
  /** Kept so that the request can be sent again after the remote session expired. */
  readonly bytes: Buffer
  readonly sent: 'first' | 'again'
  readonly traced: TracedMessage | null
}

export class SessionTarget {
  readonly name: string
  readonly #owner: SessionTargetOwner
  readonly #pending = new Map<number, PendingTargetRequest>()
  /** Numbers of requests that wait for the start. */
  #queue: number[] = []
  #state: SessionTargetState = 'fresh'
  #link: TargetLink | null = null
  #profile: TargetProfile | null = null
  #reason = ''
  #restarts = 0
  /** When the target became ready, and the earliest time of its next restart. */
  #readySince = 0
  #notBefore = 0
  #timer: NodeJS.Timeout | null = null
  #initializeNumber = 0
  /** Counts links, so that late events of a previous link are ignored. */
  #generation = 0
  /** Headers for the stream of messages that belong to no request, once the client opened one. */
  #listening: ForwardedHeaders | null = null
  /** Also applies to a link that is opened later. */
  #flow: 'running' | 'paused' = 'running'

  constructor(name: string, owner: SessionTargetOwner) {
    this.name = name
    this.#owner = owner
  }

  get state(): SessionTargetState {
    return this.#state
  }

  /** The target's answer to `initialize`; null before it. */
  get profile(): TargetProfile | null {
    return this.#profile
  }

  /** Why the target is down. */
  get reason(): string {
    return this.#reason
  }

  /** Sends a request under a new number of the session, and restarts the target if it is down. */
  request(encode: (idText: string) => Buffer, waiter: TargetResponseWaiter): number {
    const number = this.#owner.nextNumber()
    if (this.#state === 'fresh' || this.#state === 'down') this.#restart(waiter.trace ?? null)
    if (this.#state !== 'ready' && this.#state !== 'starting') {
      queueMicrotask(() => waiter.failed(this.#describeRefusal(), null))
      return number
    }
    const bytes = encode(String(number))
    const traced = traceMessage(waiter.trace, this.name)
    this.#pending.set(number, { waiter, bytes, sent: 'first', traced })
    if (this.#state === 'ready') this.#send(bytes, number, traced)
    else this.#queue.push(number)
    return number
  }

  /** Sends a notification or an answer; dropped unless the target is ready. */
  notify(bytes: Buffer, trace: Trace | null = null): void {
    if (this.#state === 'ready') this.#send(bytes, 0, traceMessage(trace, this.name))
  }

  /** Cancels a request at the target; `trace` is that of the HTTP request that cancelled it. */
  cancel(number: number, reason: string, trace: Trace | null = null): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    pending.traced?.failed(reason)
    trace?.recordMcpMessage('notifications/cancelled', this.name)
    this.notify(encodeCancelledNotification(number, reason), trace)
    this.#link?.forgetRequest(number)
  }

  /** Records the end of the session in the traces of open requests, before those traces end. */
  traceSessionEnd(reason: string): void {
    for (const { traced } of this.#pending.values()) traced?.failed(reason)
  }

  listen(fields: ForwardedHeaders): void {
    this.#listening = fields
    if (this.#state === 'ready') this.#link?.listen(fields)
  }

  pause(): void {
    this.#flow = 'paused'
    this.#link?.pause()
  }

  resume(): void {
    this.#flow = 'running'
    this.#link?.resume()
  }

  /** Starts the target; `waiter` gets the answer to `initialize`. */
  start(waiter: TargetResponseWaiter): void {
    this.#start(waiter, waiter.trace ?? null)
  }

  /** Opens a link and sends `initialize`. A restart has no waiter: the queued requests wait for it. */
  #start(waiter: TargetResponseWaiter | null, trace: Trace | null): void {
    this.#move('starting')
    const link = this.#owner.openLink(this.name, this.#createLinkOwner())
    if (typeof link === 'string') {
      // The gateway refused, so the attempt does not count as a restart of the target.
      this.#restarts = Math.max(0, this.#restarts - 1)
      this.#goDown(link, waiter)
      this.#notBefore = 0
      return
    }
    this.#link = link
    if (this.#flow === 'paused') link.pause()
    this.#sendInitialize(waiter, trace)
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#move('closed')
    this.#reason = 'the session has ended'
    this.#stopTimer()
    this.#dropLink()
    this.#failAll(this.#reason)
  }

  /** Creates the owner of one link; events of an earlier link are ignored. */
  #createLinkOwner(): TargetLinkOwner {
    const generation = ++this.#generation
    const isCurrent = (): boolean => generation === this.#generation
    const guarded = (handle: () => void): void => {
      try {
        handle()
      } catch (error) {
        // An internal error ends this session only.
        this.#owner.unexpectedError(error)
      }
    }
    return {
      session: this.#owner.session,
      label: this.#owner.label,
      received: (message, number) => {
        if (isCurrent()) guarded(() => this.#received(message, number))
      },
      failed: (number, reason, reply, code) => {
        if (isCurrent()) guarded(() => this.#failed(number, reason, reply, code))
        else reply?.body.cancel()
      },
      expired: (number) => {
        if (isCurrent()) guarded(() => this.#expired(number))
      },
      closed: (reason) => {
        if (isCurrent()) guarded(() => this.#closed(reason))
      },
    }
  }

  #received(message: RpcMessage, number: number): void {
    this.#owner.targetResponded(this)
    if (message.kind !== 'response') return this.#owner.messageReceived(this, message, number)
    const answeredNumber = Number(message.idText)
    const pending = this.#pending.get(answeredNumber)
    // The request was cancelled or never sent.
    if (pending === undefined) return
    this.#pending.delete(answeredNumber)
    pending.traced?.answered()
    pending.waiter.answered(message)
  }

  #failed(number: number, reason: string, reply: Reply | null, code?: RpcCode): void {
    if (isRequestRefusal(reply)) this.#owner.targetResponded(this)
    const pending = this.#pending.get(number)
    if (pending === undefined) return reply?.body.cancel()
    this.#pending.delete(number)
    pending.traced?.failed(reason)
    pending.waiter.failed(reason, reply, code)
  }

  /** The remote session expired: the request is sent again, once, after a new `initialize`. */
  #expired(number: number): void {
    const pending = this.#pending.get(number)
    if (pending?.sent === 'again')
      return this.#failed(number, `target '${this.name}' does not know the session`, null)
    if (this.#state === 'ready') {
      this.#move('starting')
      this.#sendInitialize(null, pending?.waiter.trace ?? null)
    }
    if (pending === undefined) return
    this.#pending.set(number, { ...pending, sent: 'again' })
    this.#queue.push(number)
  }

  #closed(reason: string): void {
    this.#link = null
    if (this.#pending.has(this.#initializeNumber))
      this.#failed(this.#initializeNumber, reason, null)
    else this.#goDown(reason, null)
  }

  #restart(trace: Trace | null): void {
    if (performance.now() < this.#notBefore) return
    this.#restarts++
    this.#start(null, trace)
  }

  #sendInitialize(waiter: TargetResponseWaiter | null, trace: Trace | null): void {
    const number = this.#owner.nextNumber()
    this.#initializeNumber = number
    const bytes = this.#owner.initializeMessage().withId(String(number))
    const { startTimeout } = this.#owner
    const initializeWaiter: TargetResponseWaiter = {
      answered: (message) => this.#initializeAnswered(message, waiter, trace),
      failed: (reason, reply) => this.#goDown(reason, waiter, reply),
    }
    this.#timer = setTimeout(() => {
      const limit = `within ${startTimeout} ms (config.mcp.startTimeout)`
      this.#failed(number, `target '${this.name}' did not answer initialize ${limit}`, null)
    }, startTimeout)
    const traced = traceMessage(trace, this.name)
    this.#pending.set(number, { waiter: initializeWaiter, bytes, sent: 'again', traced })
    this.#send(bytes, number, traced)
  }

  #initializeAnswered(
    message: RpcMessage,
    waiter: TargetResponseWaiter | null,
    trace: Trace | null,
  ): void {
    this.#stopTimer()
    const profile = TargetProfile.parse(message)
    if (profile === null) {
      const reason = `target '${this.name}' refused initialize`
      waiter?.answered(message)
      return this.#goDown(reason, null)
    }
    this.#profile = profile
    this.#readySince = performance.now()
    this.#move('ready')
    if (waiter === null) this.#owner.targetRestarted(this, trace)
    else waiter.answered(message)
    if (this.#listening !== null) this.#link?.listen(this.#listening)
    const queued = this.#queue
    this.#queue = []
    for (const number of queued) {
      const pending = this.#pending.get(number)
      if (pending !== undefined) this.#send(pending.bytes, number, pending.traced)
    }
  }

  #send(bytes: Buffer, number: number, traced: TracedMessage | null): void {
    this.#link?.send({ bytes, number, fields: this.#owner.fields(), traced })
  }

  #goDown(reason: string, waiter: TargetResponseWaiter | null, reply: Reply | null = null): void {
    if (this.#state === 'closed' || this.#state === 'down' || this.#state === 'lost') return
    this.#stopTimer()
    this.#pending.delete(this.#initializeNumber)
    const now = performance.now()
    if (this.#state === 'ready' && now - this.#readySince > RESTARTS_RESET_MS) this.#restarts = 0
    this.#reason = reason
    this.#notBefore = now + (RESTART_DELAYS_MS[this.#restarts] ?? 0)
    this.#move(this.#restarts >= MAX_RESTARTS ? 'lost' : 'down')
    this.#dropLink()
    waiter?.failed(reason, reply)
    this.#failAll(reason, waiter === null ? reply : null)
    this.#owner.targetDown(this, reason, isRequestRefusal(reply) ? 'client' : 'target')
  }

  #dropLink(): void {
    const link = this.#link
    this.#link = null
    this.#generation++
    link?.close()
  }

  /** Fails all open requests; the HTTP reply of a remote target goes to the first of them. */
  #failAll(reason: string, reply: Reply | null = null): void {
    this.traceSessionEnd(reason)
    const [first, ...others] = [...this.#pending.values()]
    this.#pending.clear()
    this.#queue = []
    if (first === undefined) reply?.body.cancel()
    first?.waiter.failed(reason, reply)
    for (const { waiter } of others) waiter.failed(reason, null)
  }

  #describeRefusal(): string {
    const wait = this.#notBefore - performance.now()
    if (this.#state !== 'down' || wait <= 0) return this.#reason
    return `${this.#reason}; it can be restarted in ${(wait / 1000).toFixed(1)} s`
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #move(to: SessionTargetState): void {
    if (!SESSION_TARGET_TRANSITIONS[this.#state].includes(to))
      throw new Error(`mcp target: ${this.#state} → ${to}`)
    this.#state = to
  }
}

/** A 4xx status refuses the client's request and is no failure of the target. */
function isRequestRefusal(reply: Reply | null): boolean {
  return reply !== null && reply.head.status >= 400 && reply.head.status < 500
}

type ProfileJson = Readonly<Record<string, unknown>>

/** A target's answer to `initialize`. */
export class TargetProfile {
  readonly version: string
  readonly capabilities: ProfileJson
  readonly instructions: string

  private constructor(result: ProfileJson) {
    const { protocolVersion, capabilities, instructions } = result
    this.version = typeof protocolVersion === 'string' ? protocolVersion : ''
    this.capabilities = objectOrEmpty(capabilities)
    this.instructions = typeof instructions === 'string' ? instructions : ''
  }

  /** Returns null if the target refused `initialize`. */
  static parse(message: RpcMessage): TargetProfile | null {
    if (message.result === null) return null
    return new TargetProfile(objectOrEmpty(JSON.parse(message.text(message.result))))
  }

  /** Whether the target has a capability such as `tools`. */
  offers(capability: string): boolean {
    return Object.hasOwn(this.capabilities, capability)
  }
}

export function objectOrEmpty(value: unknown): ProfileJson {
  // The check makes it an object, and parsed JSON has no other prototypes.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as ProfileJson)
    : {}
}

/** The log level and subscriptions of a client, which are repeated to a restarted target. */
export class ClientSetup {
  /** The last `logging/setLevel`. */
  #level: RpcMessage | null = null
  /** Subscribe requests with the edits for their target, by target and URI. */
  readonly #subscriptions = new Map<
    string,
    { target: SessionTarget; message: RpcMessage; edits: readonly JsonEdit[] }
  >()

  /** Records a successful request; `target` is null if it went to all targets. */
  remember(message: RpcMessage, target: SessionTarget | null, edits: readonly JsonEdit[]): void {
    if (message.method === 'logging/setLevel') this.#level = message
    if (target === null) return
    const key = `${target.name} ${message.textParam('uri')}`
    if (message.method === 'resources/unsubscribe') this.#subscriptions.delete(key)
    if (message.method === 'resources/subscribe' && this.#subscriptions.size < MAX_SUBSCRIPTIONS)
      this.#subscriptions.set(key, { target, message, edits })
  }

  /** Repeats all recorded requests to a target. */
  replayTo(target: SessionTarget, trace: Trace | null): void {
    const failed: TargetResponseWaiter['failed'] = (_reason, reply) => reply?.body.cancel()
    const send = (encode: (idText: string) => Buffer): void => {
      target.request(encode, { trace, answered() {}, failed })
    }
    const level = this.#level
    if (level !== null && target.profile?.offers('logging') === true)
      send((idText) => level.withId(idText))
    for (const subscription of this.#subscriptions.values())
      if (subscription.target === target)
        send((idText) => subscription.message.withId(idText, ...subscription.edits))
  }
}
