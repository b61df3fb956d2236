// The connections to one origin: idle ones first, new ones within a bound, and a bounded queue behind it.
// A connection that does not come about fails the one call it was for and holds up nobody else.

import type { SecureContext, TLSSocket } from 'node:tls'
import type { BackendLimits } from '../../core/bounds.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Histogram } from '../../core/metric-families.ts'
import type { PoolView } from '../../core/runtime-views.ts'
import type { LoggingLevel, Log } from '../../core/log.ts'
import type { CoarseClock, Sweeper, Sweepable } from '../../core/sweeper.ts'
import { TransportSocket } from '../../http/transport-socket.ts'
import type { CallHolder, HttpCall } from './backend-call.ts'
import { TlsDial, createBackendTlsContext } from './dial-tls.ts'
import { CONNECT_TIMED_OUT, describeFaultCause } from './backend-call.ts'
import { Http1BackendConnection } from './http1-backend.ts'
import type { Http1ConnectionOwner } from './http1-backend.ts'
import { Http2BackendSession } from './http2-backend.ts'
import type { Http2SessionOwner } from './http2-backend.ts'
import type { Origin } from './pools.ts'

/** What pools share. */
export interface PoolContext {
  readonly limits: BackendLimits
  readonly sweeper: Sweeper<Sweepable>
  readonly log: Log | null
  /** Seconds until connections of this kind stood; for those that never did, nothing. */
  readonly connectDurations: Histogram
}

export class ConnectionPool implements Http1ConnectionOwner, Http2SessionOwner, CallHolder {
  readonly limits: BackendLimits
  readonly origin: Origin
  readonly clock: CoarseClock
  readonly #sweeper: Sweeper<Sweepable>
  readonly #log: Log | null
  readonly #connectDurations: Histogram
  /** The one used last is used next, so that the others can grow old and go. */
  readonly #idle: Http1BackendConnection[] = []
  /** Those that negotiated HTTP/2. */
  readonly #sessions: Http2BackendSession[] = []
  readonly #waiting: HttpCall[] = []
  /** Connections of either kind, and those under way. */
  #open = 0
  #state: 'open' | 'closed' = 'open'
  /** Plain connections that are not there yet. */
  readonly #dialling = new Set<Http1BackendConnection>()
  /** Why the last connection did not come about; '' since it did, or since another was answered on. */
  #fault = ''
  #context: SecureContext | null = null

  constructor(origin: Origin, { limits, sweeper, log, connectDurations }: PoolContext) {
    this.#log = log
    this.#connectDurations = connectDurations
    this.origin = origin
    this.limits = limits
    this.clock = sweeper
    this.#sweeper = sweeper
  }

  /** Why it cannot be connected to, as far as the last try tells; null when it can. */
  get fault(): string | null {
    return this.#fault === '' ? null : this.#fault
  }

  describe(): PoolView {
    return {
      origin: this.origin.label,
      open: this.#open,
      idle: this.#idle.length,
      sessions: this.#sessions.length,
      waiting: this.#waiting.length,
    }
  }

  /** Sends a call now or, with every connection busy, when one is free. */
  submit(call: HttpCall): void {
    let connection = this.#idle.pop()
    // One that was ended is `gone` only when its socket has closed.
    while (connection?.isOver === true) connection = this.#idle.pop()
    const session = connection === undefined ? this.#sessionFor(call) : undefined
    const free = connection ?? session
    if (free !== undefined) {
      if (this.#log?.allows('trace', 'forward') === true)
        this.#logEvent('trace', 'reusing connection')
      return free.send(call)
    }
    if (this.#open < this.limits.poolMaxSize) return this.#dial(call)
    const { poolMaxWaiting } = this.limits
    if (this.#waiting.length >= poolMaxWaiting)
      return call.failed(createPoolExhaustedError(poolMaxWaiting))
    this.#logEvent('debug', 'waiting for a connection')
    call.setHolder(this)
    this.#waiting.push(call)
  }

  #logEvent(level: LoggingLevel, message: string): void {
    this.#log?.write(level, 'forward', message, ['endpoint', this.origin.label, 'open', this.#open])
  }

  /** A call that waits here was cancelled. */
  abort(call: HttpCall): void {
    const at = this.#waiting.indexOf(call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  resend(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    // Not from the idle ones: what ended this connection may have ended them too.
    if (this.origin.tls === null) return this.#connect().sendAgain(call, parts)
    const secured = (socket: TLSSocket): void => this.#secure(socket).sendAgain(call, parts)
    this.#dialTls(call, ['http/1.1'], secured)
  }

  connectionIdle(connection: Http1BackendConnection): void {
    const call = this.#waiting.shift()
    if (call !== undefined) connection.send(call)
    else if (this.#state === 'closed') connection.abort()
    else this.#idle.push(connection)
  }

  /** A pool that has connections enough dials no more: this is its word that the backend is there. */
  answered(): void {
    this.#fault = ''
  }

  connectionClosed(connection: Http1BackendConnection, error: Error | null): void {
    this.#sweeper.delete(connection)
    if (this.#dialling.delete(connection)) {
      // For whoever looks at it; the call hears by itself.
      if (error !== null) this.#fault = describeFaultCause(error)
      else if (connection.hasTimedOut) this.#fault = CONNECT_TIMED_OUT
    }
    const at = this.#idle.lastIndexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#connectionEnded()
  }

  trim(): void {
    const oldest = this.#idle.splice(0, Math.ceil(this.#idle.length / 2))
    for (const connection of oldest) connection.abort()
  }

  /** Ends the idle connections; those in use end with their calls. */
  close(): void {
    this.#state = 'closed'
    for (const connection of this.#idle.splice(0)) connection.abort()
    for (const session of this.#sessions) session.close()
  }

  /** A session can carry more: those who wait come first. */
  sessionHasRoom(session: Http2BackendSession): void {
    while (this.#waiting.length > 0 && session.hasRoom) {
      const at = this.#waiting.findIndex((call) => !needsHttp1(call))
      if (at < 0) return
      session.send(this.#waiting.splice(at, 1)[0]!)
    }
  }

  sessionClosed(session: Http2BackendSession): void {
    const at = this.#sessions.indexOf(session)
    if (at < 0) return
    this.#sessions.splice(at, 1)
    this.#sweeper.delete(session)
    this.#connectionEnded()
  }

  #dial(call: HttpCall): void {
    this.#logEvent('debug', 'connecting')
    const { tls } = this.origin
    if (tls === null) return this.#connect().send(call)
    this.#dialTls(call, needsHttp1(call) ? ['http/1.1'] : tls.alpn, (socket) => {
      if (socket.alpnProtocol === 'h2') this.#session(socket, call)
      else this.#secure(socket).send(call)
    })
  }

  #sessionFor(call: HttpCall): Http2BackendSession | undefined {
    if (needsHttp1(call)) return undefined
    return this.#sessions.find((candidate) => candidate.hasRoom)
  }

  #dialTls(call: HttpCall, alpn: readonly string[], secured: (socket: TLSSocket) => void): void {
    const { origin } = this
    const context = (this.#context ??= createBackendTlsContext(origin.tls!))
    this.#open++
    const failed = (reason: string | null): void => {
      if (reason !== null) this.#fault = reason
      this.#connectionEnded()
    }
    const timeout = this.limits.connectTimeout
    const since = performance.now()
    const taken = (socket: TLSSocket): void => {
      this.#connected(since)
      secured(socket)
    }
    new TlsDial({ origin, context, call, alpn, timeout, secured: taken, failed })
  }

  #session(socket: TLSSocket, call: HttpCall): void {
    const session = new Http2BackendSession(this, socket)
    this.#sessions.push(session)
    this.#sweeper.add(session)
    session.send(call)
    this.sessionHasRoom(session)
  }

  #secure(socket: TLSSocket): Http1BackendConnection {
    const connection = new Http1BackendConnection(this)
    this.#sweeper.add(connection)
    connection.attach(TransportSocket.fromSecured(socket, connection))
    connection.connected()
    return connection
  }

  #connectionEnded(): void {
    this.#open--
    if (this.#open >= this.limits.poolMaxSize) return
    const call = this.#waiting.shift()
    if (call !== undefined) this.submit(call)
  }

  #connect(): Http1BackendConnection {
    const connection = new Http1BackendConnection(this)
    this.#open++
    this.#sweeper.add(connection)
    this.#dialling.add(connection)
    const since = performance.now()
    const connected = (): void => {
      this.#dialling.delete(connection)
      this.#connected(since)
      connection.connected()
    }
    return connection.attach(TransportSocket.dial(this.origin.connect, connection, connected))
  }

  #connected(since: number): void {
    this.#fault = ''
    this.#connectDurations.add((performance.now() - since) / 1000)
  }
}

function createPoolExhaustedError(most: number): GatewayError {
  return new GatewayError(
    'POOL_EXHAUSTED',
    `upstream call failed: too many requests are waiting, at most ${most} (config.backend.poolMaxWaiting)`,
    { limit: ['poolMaxWaiting', most] },
  )
}

/** HTTP/2 has no way to switch protocols. */
function needsHttp1({ exchange }: HttpCall): boolean {
  return exchange.request.upgrade !== ''
}
