// One target in one session: started with the session, asked by it, and started again, within bounds, when it is gone.

import type { Trace } from '../../../core/trace-events.ts'
import type { Reply } from '../../../core/types.ts'
import type { JsonEdit } from '../../../text/json-edit.ts'
import { encodeCancelledNotification } from '../json-rpc.ts'
import type { RpcMessage } from '../json-rpc.ts'
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

/** Who waits for a target's answer; hears one of the two, once. */
export interface TargetResponseWaiter {
  /** Of the client's request, if somebody watches that. */
  readonly trace?: Trace | null | undefined
  answered(message: RpcMessage): void
  /** `reply` is what a remote target said instead of an answer, if it did; it must be relayed or cancelled. */
  failed(reason: string, reply: Reply | null): void
}

/** `fresh`: never started. `down`: may be started again. `lost`: will not be. */
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
  /** As it was sent, so that it can be sent again to a session that had expired. */
  readonly bytes: Buffer
  readonly sent: 'first' | 'again'
  readonly traced: TracedMessage | null
}

export class SessionTarget {
  readonly name: string
  readonly #owner: SessionTargetOwner
  readonly #pending = new Map<number, PendingTargetRequest>()
  /** Requests that wait for the start. */
  #queue: number[] = []
  #state: SessionTargetState = 'fresh'
  #link: TargetLink | null = null
  #profile: TargetProfile | null = null
  #reason = ''
  #restarts = 0
  /** When it was last seen ready or gone, and when it may start again. */
  #since = 0
  #notBefore = 0
  #timer: NodeJS.Timeout | null = null
  #initializeNumber = 0
  #generation = 0
  /** With what to listen for messages of no call, once that was asked for. */
  #listening: ForwardedHeaders | null = null
  /** Holds for a link that is opened meanwhile, too. */
  #flow: 'running' | 'paused' = 'running'

  constructor(name: string, owner: SessionTargetOwner) {
    this.name = name
    this.#owner = owner
  }

  get state(): SessionTargetState {
    return this.#state
  }

  /** What it answered to `initialize`; null until it did. */
  get profile(): TargetProfile | null {
    return this.#profile
  }

  /** Why it is not there. */
  get reason(): string {
    return this.#reason
  }

  /** Sends a request under a number of the session's; `make` puts the number in. */
  request(make: (idText: string) => Buffer, waiter: TargetResponseWaiter): number {
    const number = this.#owner.nextNumber()
    if (this.#state === 'fresh' || this.#state === 'down') this.#startAgain(waiter.trace ?? null)
    if (this.#state !== 'ready' && this.#state !== 'starting') {
      queueMicrotask(() => waiter.failed(this.#refusal(), null))
      return number
    }
    const bytes = make(String(number))
    const traced = traceMessage(waiter.trace, this.name)
    this.#pending.set(number, { waiter, bytes, sent: 'first', traced })
    if (this.#state === 'ready') this.#send(bytes, number, traced)
    else this.#queue.push(number)
    return number
  }

  /** A notification or an answer: only a target that is there gets it. */
  notify(bytes: Buffer, trace: Trace | null = null): void {
    if (this.#state === 'ready') this.#send(bytes, 0, traceMessage(trace, this.name))
  }

  /** The client lost interest in a request; `trace` is that of the request that says so. */
  cancel(number: number, why: string, trace: Trace | null = null): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    pending.traced?.failed(why)
    trace?.recordMcpMessage('notifications/cancelled', this.name)
    this.notify(encodeCancelledNotification(number, why), trace)
    this.#link?.forgetRequest(number)
  }

  /** Its session ends: for those who watch, before they hear that all is over. */
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

  /** Starts it; `waiter` hears its answer to `initialize`. */
  start(waiter: TargetResponseWaiter): void {
    this.#start(waiter, waiter.trace ?? null)
  }

  /** Without a waiter it is one of its own accord, for the requests that wait. */
  #start(waiter: TargetResponseWaiter | null, trace: Trace | null): void {
    this.#move('starting')
    const link = this.#owner.openLink(this.name, this.#createLinkOwner())
    if (typeof link === 'string') {
      // Not the target's doing: it is not held against it.
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

  /** Listens to one link; what an earlier one still says is not heard. */
  #createLinkOwner(): TargetLinkOwner {
    const generation = ++this.#generation
    const isCurrent = (): boolean => generation === this.#generation
    const guarded = (act: () => void): void => {
      try {
        act()
      } catch (error) {
        // A fault of ours costs this session, and no other.
        this.#owner.unexpectedError(error)
      }
    }
    return {
      label: this.#owner.label,
      received: (message, number) => {
        if (isCurrent()) guarded(() => this.#received(message, number))
      },
      failed: (number, reason, reply) => {
        if (isCurrent()) guarded(() => this.#failed(number, reason, reply))
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
    const answered = Number(message.idText)
    const pending = this.#pending.get(answered)
    // An answer to what was cancelled, or to nothing.
    if (pending === undefined) return
    this.#pending.delete(answered)
    pending.traced?.answered()
    pending.waiter.answered(message)
  }

  #failed(number: number, reason: string, reply: Reply | null): void {
    if (isRequestRefusal(reply)) this.#owner.targetResponded(this)
    const pending = this.#pending.get(number)
    if (pending === undefined) return reply?.body.cancel()
    this.#pending.delete(number)
    pending.traced?.failed(reason)
    pending.waiter.failed(reason, reply)
  }

  /** The request was not done: it goes out again when the session there has begun anew, once. */
  #expired(number: number): void {
    const pending = this.#pending.get(number)
    if (pending?.sent === 'again')
      return this.#failed(number, `target '${this.name}' knows no session`, null)
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

  #startAgain(trace: Trace | null): void {
    const now = performance.now()
    if (now < this.#notBefore) return
    this.#restarts++
    this.#start(null, trace)
  }

  #sendInitialize(waiter: TargetResponseWaiter | null, trace: Trace | null): void {
    const number = this.#owner.nextNumber()
    this.#initializeNumber = number
    const bytes = this.#owner.initializeMessage().withId(String(number))
    const { startTimeout } = this.#owner
    const greeted: TargetResponseWaiter = {
      answered: (message) => this.#initializeAnswered(message, waiter, trace),
      failed: (reason, reply) => this.#goDown(reason, waiter, reply),
    }
    this.#timer = setTimeout(() => {
      const within = `within ${startTimeout} ms (config.mcp.startTimeout)`
      this.#failed(number, `target '${this.name}' did not answer initialize ${within}`, null)
    }, startTimeout)
    const traced = traceMessage(trace, this.name)
    this.#pending.set(number, { waiter: greeted, bytes, sent: 'again', traced })
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
    this.#since = performance.now()
    this.#move('ready')
    if (waiter === null) this.#owner.targetRestarted(this, trace)
    else waiter.answered(message)
    if (this.#listening !== null) this.#link?.listen(this.#listening)
    const waiting = this.#queue
    this.#queue = []
    for (const number of waiting) {
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
    if (this.#state === 'ready' && now - this.#since > RESTARTS_RESET_MS) this.#restarts = 0
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

  /** What a remote target said goes to the first who waits. */
  #failAll(reason: string, reply: Reply | null = null): void {
    this.traceSessionEnd(reason)
    const [first, ...others] = [...this.#pending.values()]
    this.#pending.clear()
    this.#queue = []
    if (first === undefined) reply?.body.cancel()
    first?.waiter.failed(reason, reply)
    for (const { waiter } of others) waiter.failed(reason, null)
  }

  #refusal(): string {
    const wait = this.#notBefore - performance.now()
    if (this.#state !== 'down' || wait <= 0) return this.#reason
    return `${this.#reason}; it can be started again in ${(wait / 1000).toFixed(1)} s`
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

/** What a remote target says of a request it does not like, rather than of itself. */
function isRequestRefusal(reply: Reply | null): boolean {
  return reply !== null && reply.head.status >= 400 && reply.head.status < 500
}

// What a target needs of its session, and what it tells it.

export interface SessionTargetOwner {
  /** The session, for the log. */
  readonly label: string
  /** The client's `initialize`, with which every start begins. */
  initializeMessage(): RpcMessage
  readonly startTimeout: number
  /** What a remote target hears of the client's latest request. */
  fields(): ForwardedHeaders
  /** A number that is no other request's in the session. */
  nextNumber(): number
  /** Opens a connection; a text says why there is none. */
  openLink(name: string, owner: TargetLinkOwner): TargetLink | string
  /** What a target says unasked. `number` is the request it came with, or 0. */
  messageReceived(target: SessionTarget, message: RpcMessage, number: number): void
  /** It answered `initialize` after it had been gone; `trace` is that of the request that needed it. */
  targetRestarted(target: SessionTarget, trace: Trace | null): void
  /** `whose` doing that is: a client that a target turns away says nothing about the target. */
  targetDown(target: SessionTarget, reason: string, whose: 'client' | 'target'): void
  /** It said something. */
  targetResponded(target: SessionTarget): void
  /** Something went wrong that should not. */
  unexpectedError(error: unknown): void
}

// What a target said of itself in its answer to `initialize`.

type ProfileJson = Readonly<Record<string, unknown>>

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

  /** null when it refused. */
  static parse(message: RpcMessage): TargetProfile | null {
    if (message.result === null) return null
    return new TargetProfile(objectOrEmpty(JSON.parse(message.text(message.result))))
  }

  /** Whether it offers `tools`, `prompts`, `resources` … */
  offers(capability: string): boolean {
    return Object.hasOwn(this.capabilities, capability)
  }
}

export function objectOrEmpty(value: unknown): ProfileJson {
  // An object by the check; JSON has no other prototypes.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as ProfileJson)
    : {}
}

// What a client told its targets and a target that was started again must hear once more.

export class ClientSetup {
  /** The last `logging/setLevel`. */
  #level: RpcMessage | null = null
  /** Requests to subscribe, as their targets got them, by target and URI. */
  readonly #subscriptions = new Map<
    string,
    { target: SessionTarget; message: RpcMessage; edits: readonly JsonEdit[] }
  >()

  /** A request that was granted; `target` is null for all of them. */
  remember(message: RpcMessage, target: SessionTarget | null, edits: readonly JsonEdit[]): void {
    if (message.method === 'logging/setLevel') this.#level = message
    if (target === null) return
    const key = `${target.name} ${message.textParam('uri')}`
    if (message.method === 'resources/unsubscribe') this.#subscriptions.delete(key)
    if (message.method === 'resources/subscribe' && this.#subscriptions.size < MAX_SUBSCRIPTIONS)
      this.#subscriptions.set(key, { target, message, edits })
  }

  /** Tells a target all of it again. */
  replayTo(target: SessionTarget, trace: Trace | null): void {
    const failed: TargetResponseWaiter['failed'] = (_reason, reply) => reply?.body.cancel()
    const say = (make: (idText: string) => Buffer): void => {
      target.request(make, { trace, answered() {}, failed })
    }
    const level = this.#level
    if (level !== null && target.profile?.offers('logging') === true)
      say((idText) => level.withId(idText))
    for (const one of this.#subscriptions.values())
      if (one.target === target) say((idText) => one.message.withId(idText, ...one.edits))
  }
}
