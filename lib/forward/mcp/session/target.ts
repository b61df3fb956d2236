// One target in one session: started with the session, asked by it, and started again, within bounds, when it is gone.

import type { Trace } from '../../../base/trace/events.ts'
import type { Reply } from '../../../base/types.ts'
import { MAX_RESTARTS, RESTARTS_FORGIVEN_MS, RESTART_DELAYS_MS } from '../bounds.ts'
import type { Message } from '../message.ts'
import { cancelledBytes } from '../rpc.ts'
import { tracedMessage } from '../traced-message.ts'
import type { TracedMessage } from '../traced-message.ts'
import type { Link, LinkOwner, SentFields } from '../types.ts'
import { Profile } from './profile.ts'
import type { TargetOwner } from './target-owner.ts'

/** Who waits for a target's answer; hears one of the two, once. */
export interface Waiter {
  /** Of the client's request, if somebody watches that. */
  readonly trace?: Trace | null | undefined
  answered(message: Message): void
  /** `reply` is what a remote target said instead of an answer, if it did; it must be relayed or cancelled. */
  failed(reason: string, reply: Reply | null): void
}

/** `fresh`: never started. `down`: may be started again. `lost`: will not be. */
type State = 'fresh' | 'starting' | 'ready' | 'down' | 'lost' | 'closed'

const MOVES: Record<State, readonly State[]> = {
  fresh: ['starting', 'closed'],
  starting: ['ready', 'down', 'lost', 'closed'],
  ready: ['starting', 'down', 'lost', 'closed'],
  down: ['starting', 'lost', 'closed'],
  lost: ['closed'],
  closed: [],
}

interface Pending {
  readonly waiter: Waiter
  /** As it was sent, so that it can be sent again to a session that had expired. */
  readonly bytes: Buffer
  readonly sent: 'first' | 'again'
  readonly traced: TracedMessage | null
}

export class Target {
  readonly name: string
  readonly #owner: TargetOwner
  readonly #pending = new Map<number, Pending>()
  /** Requests that wait for the start. */
  #queue: number[] = []
  #state: State = 'fresh'
  #link: Link | null = null
  #profile: Profile | null = null
  #reason = ''
  #restarts = 0
  /** When it was last seen ready or gone, and when it may start again. */
  #since = 0
  #notBefore = 0
  #timer: NodeJS.Timeout | null = null
  #greetingNumber = 0
  #generation = 0
  /** With what to listen for messages of no call, once that was asked for. */
  #listening: SentFields | null = null
  /** Holds for a link that is opened meanwhile, too. */
  #flow: 'running' | 'paused' = 'running'

  constructor(name: string, owner: TargetOwner) {
    this.name = name
    this.#owner = owner
  }

  get state(): State {
    return this.#state
  }

  /** What it answered to `initialize`; null until it did. */
  get profile(): Profile | null {
    return this.#profile
  }

  /** Why it is not there. */
  get reason(): string {
    return this.#reason
  }

  /** Sends a request under a number of the session's; `make` puts the number in. */
  request(make: (idText: string) => Buffer, waiter: Waiter): number {
    const number = this.#owner.nextNumber()
    if (this.#state === 'fresh' || this.#state === 'down') this.#startAgain(waiter.trace ?? null)
    if (this.#state !== 'ready' && this.#state !== 'starting') {
      queueMicrotask(() => waiter.failed(this.#refusal(), null))
      return number
    }
    const bytes = make(String(number))
    const traced = tracedMessage(waiter.trace, this.name)
    this.#pending.set(number, { waiter, bytes, sent: 'first', traced })
    if (this.#state === 'ready') this.#send(bytes, number, traced)
    else this.#queue.push(number)
    return number
  }

  /** A notification or an answer: only a target that is there gets it. */
  tell(bytes: Buffer, trace: Trace | null = null): void {
    if (this.#state === 'ready') this.#send(bytes, 0, tracedMessage(trace, this.name))
  }

  /** The client lost interest in a request; `trace` is that of the request that says so. */
  cancel(number: number, why: string, trace: Trace | null = null): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    pending.traced?.failed(why)
    trace?.mcp('notifications/cancelled', this.name)
    this.tell(cancelledBytes(number, why), trace)
    this.#link?.forget(number)
  }

  /** Its session ends: for those who watch, before they hear that all is over. */
  ending(reason: string): void {
    for (const { traced } of this.#pending.values()) traced?.failed(reason)
  }

  listen(fields: SentFields): void {
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
  start(waiter: Waiter): void {
    this.#start(waiter, waiter.trace ?? null)
  }

  /** Without a waiter it is one of its own accord, for the requests that wait. */
  #start(waiter: Waiter | null, trace: Trace | null): void {
    this.#move('starting')
    const link = this.#owner.open(this.name, this.#ear())
    if (typeof link === 'string') {
      // Not the target's doing: it is not held against it.
      this.#restarts = Math.max(0, this.#restarts - 1)
      this.#down(link, waiter)
      this.#notBefore = 0
      return
    }
    this.#link = link
    if (this.#flow === 'paused') link.pause()
    this.#greet(waiter, trace)
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#move('closed')
    this.#reason = 'the session has ended'
    this.#stopClock()
    this.#dropLink()
    this.#failAll(this.#reason)
  }

  /** Listens to one link; what an earlier one still says is not heard. */
  #ear(): LinkOwner {
    const generation = ++this.#generation
    const isCurrent = (): boolean => generation === this.#generation
    const guarded = (act: () => void): void => {
      try {
        act()
      } catch (error) {
        // A fault of ours costs this session, and no other.
        this.#owner.broke(error)
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

  #received(message: Message, number: number): void {
    this.#owner.isThere(this)
    if (message.kind !== 'response') return this.#owner.heard(this, message, number)
    const answered = Number(message.idText)
    const pending = this.#pending.get(answered)
    // An answer to what was cancelled, or to nothing.
    if (pending === undefined) return
    this.#pending.delete(answered)
    pending.traced?.answered()
    pending.waiter.answered(message)
  }

  #failed(number: number, reason: string, reply: Reply | null): void {
    if (isRefusal(reply)) this.#owner.isThere(this)
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
      this.#greet(null, pending?.waiter.trace ?? null)
    }
    if (pending === undefined) return
    this.#pending.set(number, { ...pending, sent: 'again' })
    this.#queue.push(number)
  }

  #closed(reason: string): void {
    this.#link = null
    if (this.#pending.has(this.#greetingNumber)) this.#failed(this.#greetingNumber, reason, null)
    else this.#down(reason, null)
  }

  #startAgain(trace: Trace | null): void {
    const now = performance.now()
    if (now < this.#notBefore) return
    this.#restarts++
    this.#start(null, trace)
  }

  #greet(waiter: Waiter | null, trace: Trace | null): void {
    const number = this.#owner.nextNumber()
    this.#greetingNumber = number
    const bytes = this.#owner.greeting().withId(String(number))
    const { startTimeout } = this.#owner
    const greeted: Waiter = {
      answered: (message) => this.#greeted(message, waiter, trace),
      failed: (reason, reply) => this.#down(reason, waiter, reply),
    }
    this.#timer = setTimeout(() => {
      const within = `within ${startTimeout} ms (config.mcp.startTimeout)`
      this.#failed(number, `target '${this.name}' did not answer initialize ${within}`, null)
    }, startTimeout)
    const traced = tracedMessage(trace, this.name)
    this.#pending.set(number, { waiter: greeted, bytes, sent: 'again', traced })
    this.#send(bytes, number, traced)
  }

  #greeted(message: Message, waiter: Waiter | null, trace: Trace | null): void {
    this.#stopClock()
    const profile = Profile.from(message)
    if (profile === null) {
      const reason = `target '${this.name}' refused initialize`
      waiter?.answered(message)
      return this.#down(reason, null)
    }
    this.#profile = profile
    this.#since = performance.now()
    this.#move('ready')
    if (waiter === null) this.#owner.cameBack(this, trace)
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

  #down(reason: string, waiter: Waiter | null, reply: Reply | null = null): void {
    if (this.#state === 'closed' || this.#state === 'down' || this.#state === 'lost') return
    this.#stopClock()
    this.#pending.delete(this.#greetingNumber)
    const now = performance.now()
    if (this.#state === 'ready' && now - this.#since > RESTARTS_FORGIVEN_MS) this.#restarts = 0
    this.#reason = reason
    this.#notBefore = now + (RESTART_DELAYS_MS[this.#restarts] ?? 0)
    this.#move(this.#restarts >= MAX_RESTARTS ? 'lost' : 'down')
    this.#dropLink()
    waiter?.failed(reason, reply)
    this.#failAll(reason, waiter === null ? reply : null)
    this.#owner.wentDown(this, reason, isRefusal(reply) ? 'client' : 'target')
  }

  #dropLink(): void {
    const link = this.#link
    this.#link = null
    this.#generation++
    link?.close()
  }

  /** What a remote target said goes to the first who waits. */
  #failAll(reason: string, reply: Reply | null = null): void {
    this.ending(reason)
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

  #stopClock(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`mcp target: ${this.#state} → ${to}`)
    this.#state = to
  }
}

/** What a remote target says of a request it does not like, rather than of itself. */
function isRefusal(reply: Reply | null): boolean {
  return reply !== null && reply.head.status >= 400 && reply.head.status < 500
}
