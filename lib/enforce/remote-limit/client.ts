// A rate limit service and the one connection to it, which all calls share. It is opened when it is needed, and again when
// it broke; while the service is down calls fail at once, but for one try now and then.

import { connect } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import assert from 'node:assert'
import { connect as connectSocket, isIPv6 } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import { TCP_OPTIONS } from '../../base/bounds/limits.ts'
import type { Endpoint } from '../../base/config/types.ts'
import { noDecisions } from '../../base/limit/decisions.ts'
import type { Log } from '../../base/log/log.ts'
import { Pending } from '../../base/pending.ts'
import { Ask, isFailure } from './ask.ts'
import type { Asked, Failure, Leave } from './ask.ts'
import { encodeRequest } from './codec.ts'
import type { RateLimitRequest } from './codec.ts'
import { Question } from './question.ts'
import type { Asking, QuestionHome } from './question.ts'

/** Within which an answer must be there, a connection included: a request waits for it. */
export const CALL_TIMEOUT_MS = 500

/** Calls under way; more than these say that the service does not keep up. */
export const MAX_CALLS = 1_024

const DIAL_TIMEOUT_MS = 2_000
/** After a connection that came to nothing, and at most after several in a row. */
const MIN_REST_MS = 100
const MAX_REST_MS = 2_000
/** Calls run out of time and no word comes for so long: whoever was at the other end of the connection is gone. */
const MAX_SILENCE_MS = 3_000
/** Streams that may be reset at once, and again in each second: servers end connections on which too many are. */
const MAX_RESETS = 100
const RESETS_PER_SECOND = 20
/** One line about failures in this time. */
const TELL_EVERY_MS = 5_000

/** `dialling`: it has not answered anything yet. `resting`: it is not tried again before its time. */
type State = 'idle' | 'dialling' | 'open' | 'resting'

const MOVES: Record<State, readonly State[]> = {
  idle: ['dialling'],
  dialling: ['open', 'idle', 'resting'],
  open: ['idle', 'resting'],
  resting: ['dialling'],
}

export interface Clock {
  now(): number
}

export class RateLimitService {
  /** As the log tells it. */
  readonly label: string
  readonly decisions = noDecisions()
  readonly #connect: NetConnectOpts
  readonly #authority: string
  readonly #log: Log
  readonly #clock: Clock
  readonly #pending: Pending
  readonly #home: QuestionHome = {
    send: (question) => this.#send(question),
    leave: () => this.#leaveBy(),
    closed: () => this.#closed(),
    answered: (asked) => this.#answered(asked),
  }
  #state: State = 'idle'
  #session: ClientHttp2Session | null = null
  #whenUnused: 'keep' | 'end' = 'keep'
  /** Streams under way, also those that nobody waits for. */
  #streams = 0
  #resets = MAX_RESETS
  #resetsAt = 0
  /** The first call without an answer since the last one with; -1 for none. */
  #silentSince = -1
  #rest = MIN_REST_MS
  #restUntil = 0
  #reason = ''
  #failures = 0
  #tellAgainAt = 0

  /** `pending`: streams, of all services together. */
  constructor(endpoint: Endpoint, log: Log, clock: Clock = performance, pending = new Pending()) {
    this.label = labelOf(endpoint)
    this.#authority = endpoint.kind === 'unix' ? 'localhost' : this.label
    this.#connect =
      endpoint.kind === 'unix'
        ? { path: endpoint.path }
        : { host: endpoint.host, port: endpoint.port }
    this.#log = log
    this.#clock = clock
    this.#pending = pending
  }

  get state(): State {
    return this.#state
  }

  ask(request: RateLimitRequest, ms = CALL_TIMEOUT_MS): Asking {
    const question = new Question(this.#home, encodeRequest(request), this.#clock.now() + ms)
    question.send()
    return question
  }

  /** Ends the connection once it is not in use; whoever asks later has one for as long as that takes. */
  close(): void {
    this.#whenUnused = 'end'
    this.#release()
  }

  #send(question: Question): Ask | Failure {
    const ms = Math.ceil(question.by - this.#clock.now())
    if (ms <= 0) return { kind: 'timeout', reason: 'no answer in time' }
    if (this.#streams >= MAX_CALLS) return unasked('too many calls under way')
    const session = this.#current()
    if (typeof session === 'string') return unasked(session)
    try {
      const ask = new Ask(question, session, this.#authority, { bytes: question.bytes, ms })
      this.#streams++
      this.#pending.begin()
      return ask
    } catch (error) {
      // node:http2 throws what others would tell by an event.
      return unasked(codeOf(error))
    }
  }

  #closed(): void {
    this.#streams--
    this.#release()
    this.#pending.end()
  }

  #answered(asked: Asked): void {
    if (!isFailure(asked) || asked.kind === 'bad') this.#heard()
    else if (asked.kind === 'timeout') this.#missed()
    if (isFailure(asked) && asked.kind !== 'cancelled') this.#tell(asked.reason)
  }

  #leaveBy(): Leave {
    const now = this.#clock.now()
    const more = ((now - this.#resetsAt) / 1_000) * RESETS_PER_SECOND
    this.#resetsAt = now
    this.#resets = Math.min(MAX_RESETS, this.#resets + more)
    if (this.#resets < 1) return 'forget'
    this.#resets--
    return 'reset'
  }

  #heard(): void {
    this.#silentSince = -1
    this.#rest = MIN_REST_MS
    if (this.#state === 'dialling') this.#move('open')
  }

  #missed(): void {
    const now = this.#clock.now()
    if (this.#silentSince < 0) this.#silentSince = now
    else if (now - this.#silentSince >= MAX_SILENCE_MS && this.#session !== null)
      this.#drop(this.#session, 'no answers')
  }

  /** What calls are sent on, or why there is nothing. */
  #current(): ClientHttp2Session | string {
    const session = this.#session
    if (session !== null && !session.closed && !session.destroyed) return session
    // It is over, and we are about to hear of it.
    if (session !== null) this.#lost(session, 'connection closed')
    if (this.#state === 'resting' && this.#clock.now() < this.#restUntil) return this.#reason
    this.#move('dialling')
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
    session.on('error', (error) => this.#lost(session, codeOf(error)))
    // Calls it has still end there; new ones want another.
    session.on('goaway', () => this.#lost(session, 'sent away'))
    session.once('close', () => {
      clearTimeout(timer)
      this.#lost(session, 'connection closed')
    })
    return session
  }

  #lost(session: ClientHttp2Session, reason: string): void {
    if (this.#session !== session) return
    this.#session = null
    // One that was of use may have been closed for its age.
    if (this.#state === 'open') this.#move('idle')
    else this.#goToRest(reason)
  }

  #drop(session: ClientHttp2Session, reason: string): void {
    if (this.#session === session) {
      this.#session = null
      this.#goToRest(reason)
    }
    session.destroy()
  }

  #goToRest(reason: string): void {
    this.#move('resting')
    this.#reason = reason
    this.#restUntil = this.#clock.now() + this.#rest
    this.#rest = Math.min(MAX_REST_MS, this.#rest * 2)
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
  #tell(reason: string): void {
    this.#failures++
    const now = this.#clock.now()
    if (now < this.#tellAgainAt) return
    this.#tellAgainAt = now + TELL_EVERY_MS
    this.#log.line('warn', 'limits', 'rate limit service failed', [
      'service',
      this.label,
      'reason',
      reason,
      'failures',
      this.#failures,
    ])
    this.#failures = 0
  }

  #move(state: State): void {
    assert(
      MOVES[this.#state].includes(state),
      `a service never goes from ${this.#state} to ${state}`,
    )
    this.#state = state
  }
}

function unasked(reason: string): Failure {
  return { kind: 'unasked', reason }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'connection failed'
}

function labelOf(endpoint: Endpoint): string {
  if (endpoint.kind === 'unix') return `unix:${endpoint.path}`
  const { host, port } = endpoint
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}
