// The client of a rate limit service with one HTTP/2 connection for all calls, opened on demand and reopened after a
// failure. While the service is down, calls fail at once, except for one attempt after each cooldown.

import assert from 'node:assert'
import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { connect as connectSocket, isIPv6 } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import type { EndpointAddress } from '../../config/config-types.ts'
import { createDecisionCounts } from '../../config/limit-status.ts'
import type { DecisionCounts } from '../../config/limit-status.ts'
import type { RemoteLimitConfig } from '../../config/policy-types.ts'
import { TCP_OPTIONS } from '../../core/bounds.ts'
import type { Log } from '../../core/log.ts'
import type { MetricLabels } from '../../core/metric-families.ts'
import { PendingCounter } from '../../core/scheduling.ts'
import type { CancellableCall } from '../../core/types.ts'
import { CostHistory } from './learned-costs.ts'
import { isRateLimitFailure, RateLimitCall } from './rate-limit-call.ts'
import type {
  RateLimitCallOwner,
  RateLimitCancelMode,
  RateLimitFailure,
  RateLimitResult,
} from './rate-limit-call.ts'
import { encodeRateLimitRequest } from './rate-limit-messages.ts'
import type { RateLimitRequest } from './rate-limit-messages.ts'

/** Timeout of a call, including the time to connect: a request waits for it. */
export const RATE_LIMIT_TIMEOUT_MS = 500

/** Maximum number of concurrent calls; at this number the service does not keep up. */
export const MAX_RATE_LIMIT_CALLS = 1_024

const CONNECT_TIMEOUT_MS = 2_000
/** Cooldown after a failed connection; it doubles up to the maximum with each further failure. */
const MIN_COOLDOWN_MS = 100
const MAX_COOLDOWN_MS = 2_000
/** When calls time out and no response arrives for this long, the connection is considered dead. */
const MAX_SILENCE_MS = 3_000
/** Bounds on stream resets, as a burst and per second: servers close connections with too many resets. */
const MAX_RESETS = 100
const RESETS_PER_SECOND = 20
/** Minimum time between two log lines about failures. */
const LOG_INTERVAL_MS = 5_000

/** `connecting`: no response has arrived yet. `cooldown`: no new attempt before the cooldown ends. */
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
  /** The name in the log. */
  readonly label: string
  readonly decisions = createDecisionCounts()
  readonly #connect: NetConnectOpts
  readonly #authority: string
  readonly #log: Log
  readonly #clock: RateLimitServiceClock
  readonly #pending: PendingCounter
  readonly #queryOwner: RateLimitQueryOwner = {
    send: (query) => this.#send(query),
    cancelMode: () => this.#chooseCancelMode(),
    closed: () => this.#onStreamClosed(),
    answered: (result) => this.#onResult(result),
  }
  #state: RateLimitServiceState = 'idle'
  #session: ClientHttp2Session | null = null
  #whenUnused: 'keep' | 'end' = 'keep'
  /** Open streams, including those whose caller no longer waits. */
  #streams = 0
  #resetsLeft = MAX_RESETS
  #resetsUpdatedAt = 0
  /** Time of the first timeout since the last response; -1 for none. */
  #silentSince = -1
  #cooldownMs = MIN_COOLDOWN_MS
  #cooldownUntil = 0
  /** Why the last connection failed. */
  #cooldownReason = ''
  #failures = 0
  #nextLogAt = 0

  /** `pending` counts the streams of all services. */
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
    const query = new RateLimitQuery(
      this.#queryOwner,
      encodeRateLimitRequest(request),
      this.#clock.now() + ms,
    )
    query.send()
    return query
  }

  /** Closes the connection when no call uses it; a later call opens a connection for its duration. */
  close(): void {
    this.#whenUnused = 'end'
    this.#closeIfUnused()
  }

  #send(query: RateLimitQuery): RateLimitCall | RateLimitFailure {
    const ms = Math.ceil(query.deadline - this.#clock.now())
    if (ms <= 0) return { kind: 'timeout', reason: 'no response in time' }
    if (this.#streams >= MAX_RATE_LIMIT_CALLS)
      return createUnsentFailure('too many calls in progress')
    const session = this.#currentSession()
    if (typeof session === 'string') return createUnsentFailure(session)
    try {
      const call = new RateLimitCall(query, session, this.#authority, { bytes: query.bytes, ms })
      this.#streams++
      this.#pending.begin()
      return call
    } catch (error) {
      // node:http2 throws some errors that other modules report by an event.
      return createUnsentFailure(errorCodeOf(error))
    }
  }

  #onStreamClosed(): void {
    this.#streams--
    this.#closeIfUnused()
    this.#pending.end()
  }

  #onResult(result: RateLimitResult): void {
    if (!isRateLimitFailure(result) || result.kind === 'invalid') this.#noteResponse()
    else if (result.kind === 'timeout') this.#noteTimeout()
    if (isRateLimitFailure(result) && result.kind !== 'cancelled') this.#logFailures(result.reason)
  }

  #chooseCancelMode(): RateLimitCancelMode {
    const now = this.#clock.now()
    const refill = ((now - this.#resetsUpdatedAt) / 1_000) * RESETS_PER_SECOND
    this.#resetsUpdatedAt = now
    this.#resetsLeft = Math.min(MAX_RESETS, this.#resetsLeft + refill)
    if (this.#resetsLeft < 1) return 'forget'
    this.#resetsLeft--
    return 'reset'
  }

  #noteResponse(): void {
    this.#silentSince = -1
    this.#cooldownMs = MIN_COOLDOWN_MS
    if (this.#state === 'connecting') this.#move('open')
  }

  #noteTimeout(): void {
    const now = this.#clock.now()
    if (this.#silentSince < 0) this.#silentSince = now
    else if (now - this.#silentSince >= MAX_SILENCE_MS && this.#session !== null)
      this.#drop(this.#session, 'no responses')
  }

  /** Returns the session for new calls, or why there is none. */
  #currentSession(): ClientHttp2Session | string {
    const session = this.#session
    if (session !== null && !session.closed && !session.destroyed) return session
    // The session has ended, but its close event has not been emitted yet.
    if (session !== null) this.#onSessionLost(session, 'connection closed')
    if (this.#state === 'cooldown' && this.#clock.now() < this.#cooldownUntil)
      return this.#cooldownReason
    this.#move('connecting')
    this.#silentSince = -1
    this.#session = this.#connectSession()
    return this.#session
  }

  #connectSession(): ClientHttp2Session {
    const options = { ...this.#connect, ...TCP_OPTIONS }
    const session = connect(`http://${this.#authority}`, {
      createConnection: () => connectSocket(options),
      settings: { enablePush: false },
    })
    const timer = setTimeout(() => this.#drop(session, 'connect timeout'), CONNECT_TIMEOUT_MS)
    session.once('connect', () => clearTimeout(timer))
    // An error ends the session; the close event after it has no reason.
    session.on('error', (error) => this.#onSessionLost(session, errorCodeOf(error)))
    // Running calls complete on this session; new ones need another.
    session.on('goaway', () => this.#onSessionLost(session, 'GOAWAY received'))
    session.once('close', () => {
      clearTimeout(timer)
      this.#onSessionLost(session, 'connection closed')
    })
    return session
  }

  #onSessionLost(session: ClientHttp2Session, reason: string): void {
    if (this.#session !== session) return
    this.#session = null
    // A working connection may have been closed because of its age, so there is no cooldown.
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
    this.#cooldownReason = reason
    this.#cooldownUntil = this.#clock.now() + this.#cooldownMs
    this.#cooldownMs = Math.min(MAX_COOLDOWN_MS, this.#cooldownMs * 2)
  }

  /** Closes a connection without streams after `close` was called. */
  #closeIfUnused(): void {
    if (this.#whenUnused === 'keep' || this.#streams > 0 || this.#session === null) return
    const session = this.#session
    this.#session = null
    this.#move('idle')
    session.destroy()
  }

  /** A service that is down fails every request, so failures are logged at intervals with their number. */
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
      `invalid transition of a rate limit service from ${this.#state} to ${state}`,
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

/** All rate limit services in use, and what was learned about token costs. It outlives configuration reloads. */
export class RateLimitServices {
  readonly #log: Log
  /** Also counts the streams of removed services. */
  readonly #pending = new PendingCounter()
  readonly #services = new Map<string, RateLimitService>()
  /** By the identity of the policy. */
  readonly #costs = new Map<string, CostHistory>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Policies with the same service share its connection. */
  serviceFor(endpoint: EndpointAddress): RateLimitService {
    const created = new RateLimitService(endpoint, this.#log, performance, this.#pending)
    const known = this.#services.get(created.label)
    if (known !== undefined) return known
    this.#services.set(created.label, created)
    return created
  }

  /** Returns the same history for the same token descriptors of an owner; a changed policy starts with a new one. */
  costsFor(owner: string, { endpoint, domain, descriptors }: RemoteLimitConfig): CostHistory {
    const tokens = descriptors
      .filter(({ counts }) => counts === 'tokens')
      .map(({ entries, cost, limitOverride }) => [
        entries.map(({ key, value }) => [key, value.source]),
        cost?.source,
        limitOverride?.source,
      ])
    const identity = JSON.stringify([owner, endpointLabelOf(endpoint), domain, tokens])
    const known = this.#costs.get(identity)
    if (known !== undefined) return known
    const costs = new CostHistory('one')
    this.#costs.set(identity, costs)
    return costs
  }

  get decisions(): (readonly [MetricLabels, DecisionCounts])[] {
    return [...this.#services].map(([limit, { decisions }]) => [
      { owner: 'service', limit },
      decisions,
    ])
  }

  /** Removes all other services and histories; running requests can still use them. */
  retain(services: ReadonlySet<RateLimitService>, histories: ReadonlySet<CostHistory>): void {
    for (const [identity, costs] of this.#costs)
      if (!histories.has(costs)) this.#costs.delete(identity)
    for (const [label, service] of this.#services) {
      if (services.has(service)) continue
      this.#services.delete(label)
      service.close()
    }
  }

  /** Resolves when no call is in progress. */
  whenIdle(): Promise<void> {
    return this.#pending.whenIdle()
  }

  close(): void {
    for (const service of this.#services.values()) service.close()
  }
}

const MAX_ATTEMPTS = 2

interface PendingRateLimitQuery extends CancellableCall {
  /** Never rejects. */
  readonly answer: Promise<RateLimitResult>
}

interface RateLimitQueryOwner {
  /** Sends the query on a stream, or returns why not. */
  send(query: RateLimitQuery): RateLimitCall | RateLimitFailure
  /** Returns how a call is cancelled. */
  cancelMode(): RateLimitCancelMode
  /** A stream of the query is closed. */
  closed(): void
  /** The query has a result; called before the result is delivered. */
  answered(result: RateLimitResult): void
}

/** One query to a rate limit service; a stream that the service refused is retried once. */
class RateLimitQuery implements PendingRateLimitQuery, RateLimitCallOwner {
  readonly bytes: Buffer
  /** A time of the service's clock. */
  readonly deadline: number
  readonly answer: Promise<RateLimitResult>
  readonly #owner: RateLimitQueryOwner
  readonly #resolve: (result: RateLimitResult) => void
  #call: RateLimitCall | null = null
  #attemptsLeft = MAX_ATTEMPTS

  constructor(owner: RateLimitQueryOwner, bytes: Buffer, deadline: number) {
    this.#owner = owner
    this.bytes = bytes
    this.deadline = deadline
    let resolve!: (result: RateLimitResult) => void
    this.answer = new Promise((resolved) => (resolve = resolved))
    this.#resolve = resolve
  }

  send(): void {
    this.#attemptsLeft--
    const sent = this.#owner.send(this)
    if (sent instanceof RateLimitCall) this.#call = sent
    else this.done(sent)
  }

  done(result: RateLimitResult): void {
    this.#call = null
    const isRefused = isRateLimitFailure(result) && result.kind === 'refused'
    if (isRefused && this.#attemptsLeft > 0) return this.send()
    this.#owner.answered(result)
    this.#resolve(result)
  }

  closed(): void {
    this.#owner.closed()
  }

  cancel(): void {
    this.#call?.cancel(this.#owner.cancelMode())
  }
}
