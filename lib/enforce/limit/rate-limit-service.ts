// A rate limit service and the one connection to it, which all calls share. It is opened when it is needed, and again when
// it broke; while the service is down calls fail at once, but for one try now and then.

import assert from 'node:assert'
import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { connect as connectSocket, isIPv6 } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import type { EndpointAddress } from '../../config/config-types.ts'
import { createDecisionCounts } from '../../config/limit-status.ts'
import type { DecisionCounts } from '../../config/limit-status.ts'
import { TCP_OPTIONS } from '../../core/bounds.ts'
import type { Log } from '../../core/log.ts'
import type { MetricLabels } from '../../core/metric-families.ts'
import { PendingCounter } from '../../core/scheduling.ts'
import type { CancellableCall } from '../../core/types.ts'
import { isRateLimitFailure, RateLimitCall } from './rate-limit-call.ts'
import type {
  RateLimitCallOwner,
  RateLimitCancelMode,
  RateLimitFailure,
  RateLimitResult,
} from './rate-limit-call.ts'
import { encodeRateLimitRequest } from './rate-limit-messages.ts'
import type { RateLimitRequest } from './rate-limit-messages.ts'

/** Within which an answer must be there, a connection included: a request waits for it. */
export const RATE_LIMIT_TIMEOUT_MS = 500

/** Calls under way; more than these say that the service does not keep up. */
export const MAX_RATE_LIMIT_CALLS = 1_024

const DIAL_TIMEOUT_MS = 2_000
/** After a connection that came to nothing, and at most after several in a row. */
const MIN_COOLDOWN_MS = 100
const MAX_COOLDOWN_MS = 2_000
/** Calls run out of time and no word comes for so long: whoever was at the other end of the connection is gone. */
const MAX_SILENCE_MS = 3_000
/** Streams that may be reset at once, and again in each second: servers end connections on which too many are. */
const MAX_RESETS = 100
const RESETS_PER_SECOND = 20
/** One line about failures in this time. */
const LOG_INTERVAL_MS = 5_000

/** `dialling`: it has not answered anything yet. `resting`: it is not tried again before its time. */
type RateLimitServiceState = 'idle' | 'connecting' | 'open' | 'cooldown'

const RATE_LIMIT_SERVICE_TRANSITIONS: Record<
  RateLimitServiceState,
  readonly RateLimitServiceState[]
> = {
  idle: ['connecting'],
  connecting: ['open', 'idle', 'cooldown'],
  open: ['idle', 'cooldown'],
  cooldown: ['connecting'],
}

export interface RateLimitServiceClock {
  now(): number
}

export class RateLimitService {
  /** As the log tells it. */
  readonly label: string
  readonly decisions = createDecisionCounts()
  readonly #connect: NetConnectOpts
  readonly #authority: string
  readonly #log: Log
  readonly #clock: RateLimitServiceClock
  readonly #pending: PendingCounter
  readonly #queryOwner: RateLimitQueryOwner = {
    send: (question) => this.#send(question),
    cancelMode: () => this.#cancelMode(),
    closed: () => this.#closed(),
    answered: (asked) => this.#answered(asked),
  }
  #state: RateLimitServiceState = 'idle'
  #session: ClientHttp2Session | null = null
  #whenUnused: 'keep' | 'end' = 'keep'
  /** Streams under way, also those that nobody waits for. */
  #streams = 0
  #resets = MAX_RESETS
  #resetsAt = 0
  /** The first call without an answer since the last one with; -1 for none. */
  #silentSince = -1
  #cooldownMs = MIN_COOLDOWN_MS
  #cooldownUntil = 0
  #reason = ''
  #failures = 0
  #nextLogAt = 0

  /** `pending`: streams, of all services together. */
  constructor(
    endpoint: EndpointAddress,
    log: Log,
    clock: RateLimitServiceClock = performance,
    pending = new PendingCounter(),
  ) {
    this.label = endpointLabelOf(endpoint)
    this.#authority = endpoint.kind === 'unix' ? 'localhost' : this.label
    this.#connect =
      endpoint.kind === 'unix'
        ? { path: endpoint.path }
        : { host: endpoint.host, port: endpoint.port }
    this.#log = log
    this.#clock = clock
    this.#pending = pending
  }

  get state(): RateLimitServiceState {
    return this.#state
  }

  query(request: RateLimitRequest, ms = RATE_LIMIT_TIMEOUT_MS): PendingRateLimitQuery {
    const question = new RateLimitQuery(
      this.#queryOwner,
      encodeRateLimitRequest(request),
      this.#clock.now() + ms,
    )
    question.send()
    return question
  }

  /** Ends the connection once it is not in use; whoever asks later has one for as long as that takes. */
  close(): void {
    this.#whenUnused = 'end'
    this.#release()
  }

  #send(question: RateLimitQuery): RateLimitCall | RateLimitFailure {
    const ms = Math.ceil(question.deadline - this.#clock.now())
    if (ms <= 0) return { kind: 'timeout', reason: 'no response in time' }
    if (this.#streams >= MAX_RATE_LIMIT_CALLS)
      return createUnsentFailure('too many calls in progress')
    const session = this.#currentSession()
    if (typeof session === 'string') return createUnsentFailure(session)
    try {
      const ask = new RateLimitCall(question, session, this.#authority, {
        bytes: question.bytes,
        ms,
      })
      this.#streams++
      this.#pending.begin()
      return ask
    } catch (error) {
      // node:http2 throws what others would tell by an event.
      return createUnsentFailure(errorCodeOf(error))
    }
  }

  #closed(): void {
    this.#streams--
    this.#release()
    this.#pending.end()
  }

  #answered(asked: RateLimitResult): void {
    if (!isRateLimitFailure(asked) || asked.kind === 'invalid') this.#noteAnswer()
    else if (asked.kind === 'timeout') this.#noteTimeout()
    if (isRateLimitFailure(asked) && asked.kind !== 'cancelled') this.#logFailures(asked.reason)
  }

  #cancelMode(): RateLimitCancelMode {
    const now = this.#clock.now()
    const more = ((now - this.#resetsAt) / 1_000) * RESETS_PER_SECOND
    this.#resetsAt = now
    this.#resets = Math.min(MAX_RESETS, this.#resets + more)
    if (this.#resets < 1) return 'forget'
    this.#resets--
    return 'reset'
  }

  #noteAnswer(): void {
    this.#silentSince = -1
    this.#cooldownMs = MIN_COOLDOWN_MS
    if (this.#state === 'connecting') this.#move('open')
  }

  #noteTimeout(): void {
    const now = this.#clock.now()
    if (this.#silentSince < 0) this.#silentSince = now
    else if (now - this.#silentSince >= MAX_SILENCE_MS && this.#session !== null)
      this.#drop(this.#session, 'no answers')
  }

  /** What calls are sent on, or why there is nothing. */
  #currentSession(): ClientHttp2Session | string {
    const session = this.#session
    if (session !== null && !session.closed && !session.destroyed) return session
    // It is over, and we are about to hear of it.
    if (session !== null) this.#sessionLost(session, 'connection closed')
    if (this.#state === 'cooldown' && this.#clock.now() < this.#cooldownUntil) return this.#reason
    this.#move('connecting')
    this.#silentSince = -1
    this.#session = this.#dial()
    return this.#session
  }

  #dial(): ClientHttp2Session {
    const options = { ...this.#connect, ...TCP_OPTIONS }
    const session = connect(`http://${this.#authority}`, {
      createConnection: () => connectSocket(options),
      settings: { enablePush: false },
    })
    const timer = setTimeout(() => this.#drop(session, 'no connection in time'), DIAL_TIMEOUT_MS)
    session.once('connect', () => clearTimeout(timer))
    // An error is its end, and tells why.
    session.on('error', (error) => this.#sessionLost(session, errorCodeOf(error)))
    // Calls it has still end there; new ones want another.
    session.on('goaway', () => this.#sessionLost(session, 'sent away'))
    session.once('close', () => {
      clearTimeout(timer)
      this.#sessionLost(session, 'connection closed')
    })
    return session
  }

  #sessionLost(session: ClientHttp2Session, reason: string): void {
    if (this.#session !== session) return
    this.#session = null
    // One that was of use may have been closed for its age.
    if (this.#state === 'open') this.#move('idle')
    else this.#startCooldown(reason)
  }

  #drop(session: ClientHttp2Session, reason: string): void {
    if (this.#session === session) {
      this.#session = null
      this.#startCooldown(reason)
    }
    session.destroy()
  }

  #startCooldown(reason: string): void {
    this.#move('cooldown')
    this.#reason = reason
    this.#cooldownUntil = this.#clock.now() + this.#cooldownMs
    this.#cooldownMs = Math.min(MAX_COOLDOWN_MS, this.#cooldownMs * 2)
  }

  /** A connection without a stream is kept, or not. */
  #release(): void {
    if (this.#whenUnused === 'keep' || this.#streams > 0 || this.#session === null) return
    const session = this.#session
    this.#session = null
    this.#move('idle')
    session.destroy()
  }

  /** A service that is down fails every request: it is said once in a while, with their number. */
  #logFailures(reason: string): void {
    this.#failures++
    const now = this.#clock.now()
    if (now < this.#nextLogAt) return
    this.#nextLogAt = now + LOG_INTERVAL_MS
    this.#log.write('warn', 'limits', 'rate limit service failed', [
      'service',
      this.label,
      'reason',
      reason,
      'failures',
      this.#failures,
    ])
    this.#failures = 0
  }

  #move(state: RateLimitServiceState): void {
    assert(
      RATE_LIMIT_SERVICE_TRANSITIONS[this.#state].includes(state),
      `a service never goes from ${this.#state} to ${state}`,
    )
    this.#state = state
  }
}

function createUnsentFailure(reason: string): RateLimitFailure {
  return { kind: 'unsent', reason }
}

function errorCodeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'connection failed'
}

function endpointLabelOf(endpoint: EndpointAddress): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`
  const { host, port } = endpoint
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

// Every rate limit service in use: policies that name the same one share its connection.

export class RateLimitServices {
  readonly #log: Log
  /** Also of those that were forgotten. */
  readonly #pending = new PendingCounter()
  readonly #services = new Map<string, RateLimitService>()

  constructor(log: Log) {
    this.#log = log
  }

  serviceFor(endpoint: EndpointAddress): RateLimitService {
    const fresh = new RateLimitService(endpoint, this.#log, performance, this.#pending)
    const known = this.#services.get(fresh.label)
    if (known !== undefined) return known
    this.#services.set(fresh.label, fresh)
    return fresh
  }

  get decisions(): (readonly [MetricLabels, DecisionCounts])[] {
    return [...this.#services].map(([limit, { decisions }]) => [
      { owner: 'service', limit },
      decisions,
    ])
  }

  /** Forgets all but these; requests under way can still ask the others. */
  retain(services: ReadonlySet<RateLimitService>): void {
    for (const [label, service] of this.#services) {
      if (services.has(service)) continue
      this.#services.delete(label)
      service.close()
    }
  }

  /** Everything that was to be told has been: no call is under way. */
  whenIdle(): Promise<void> {
    return this.#pending.whenIdle()
  }

  close(): void {
    for (const service of this.#services.values()) service.close()
  }
}

// What one request has to ask a rate limit service, over one stream or, when that was not looked at, another.

const MAX_TRIES = 2

/** A question on its way. */
interface PendingRateLimitQuery extends CancellableCall {
  /** Never rejects. */
  readonly answer: Promise<RateLimitResult>
}

interface RateLimitQueryOwner {
  /** Puts it on a stream, or says why not. */
  send(question: RateLimitQuery): RateLimitCall | RateLimitFailure
  /** How one leaves that is not waited for any more. */
  cancelMode(): RateLimitCancelMode
  /** A stream of it is gone. */
  closed(): void
  /** It is over; whoever waits for the answer hears of it after this. */
  answered(asked: RateLimitResult): void
}

class RateLimitQuery implements PendingRateLimitQuery, RateLimitCallOwner {
  readonly bytes: Buffer
  /** On the clock of its home. */
  readonly deadline: number
  readonly answer: Promise<RateLimitResult>
  readonly #queryOwner: RateLimitQueryOwner
  readonly #resolve: (asked: RateLimitResult) => void
  #call: RateLimitCall | null = null
  #triesLeft = MAX_TRIES

  constructor(home: RateLimitQueryOwner, bytes: Buffer, by: number) {
    this.#queryOwner = home
    this.bytes = bytes
    this.deadline = by
    let resolve!: (asked: RateLimitResult) => void
    this.answer = new Promise((resolved) => (resolve = resolved))
    this.#resolve = resolve
  }

  send(): void {
    this.#triesLeft--
    const sent = this.#queryOwner.send(this)
    if (sent instanceof RateLimitCall) this.#call = sent
    else this.done(sent)
  }

  done(asked: RateLimitResult): void {
    this.#call = null
    const isRefused = isRateLimitFailure(asked) && asked.kind === 'refused'
    if (isRefused && this.#triesLeft > 0) return this.send()
    this.#queryOwner.answered(asked)
    this.#resolve(asked)
  }

  closed(): void {
    this.#queryOwner.closed()
  }

  cancel(): void {
    this.#call?.cancel(this.#queryOwner.cancelMode())
  }
}
