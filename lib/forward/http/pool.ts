// The connections to one origin: a call takes an idle connection, opens a new one within a bound, or waits in a bounded queue.
// A connection attempt that fails also fails the call it was for, and no other call.

import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import type { BackendLimits } from '../../core/bounds.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Histogram } from '../../core/metric-families.ts'
import type { PoolView } from '../../core/runtime-views.ts'
import type { LoggingLevel, Log } from '../../core/log.ts'
import type { CoarseClock, Sweeper, Sweepable } from '../../core/sweeper.ts'
import { TransportSocket } from '../../http/transport-socket.ts'
import type { CallHolder, HttpCall } from './backend-call.ts'
import { BackendDial, createBackendTlsContext } from './backend-dial.ts'
import { CONNECT_TIMED_OUT, describeFaultCause } from './backend-call.ts'
import { Http1BackendConnection } from './http1-backend.ts'
import type { Http1ConnectionOwner } from './http1-backend.ts'
import { Http2BackendSession } from './http2-backend.ts'
import type { Http2SessionOwner } from './http2-backend.ts'
import type { Origin } from './pools.ts'

export interface PoolContext {
  readonly limits: BackendLimits
  readonly sweeper: Sweeper<Sweepable>
  readonly log: Log | null
  /** Seconds until connections were established; failed attempts are not counted. */
  readonly connectDurations: Histogram
}

/** What a call can be sent on; `any`: what the backend negotiates. */
type CallProtocol = 'http1' | 'http2' | 'any'

export class ConnectionPool implements Http1ConnectionOwner, Http2SessionOwner, CallHolder {
  readonly limits: BackendLimits
  readonly origin: Origin
  readonly clock: CoarseClock
  readonly scheme: 'http' | 'https'
  readonly #sweeper: Sweeper<Sweepable>
  readonly #log: Log | null
  readonly #connectDurations: Histogram
  /** The last one used is taken first, so that the others reach their idle timeout. */
  readonly #idle: Http1BackendConnection[] = []
  /** Connections with HTTP/2. */
  readonly #sessions: Http2BackendSession[] = []
  readonly #waiting: HttpCall[] = []
  /** Connections of either kind, with those being opened. */
  #openCount = 0
  #state: 'open' | 'closed' = 'open'
  /** Connections without TLS that are being opened. */
  readonly #dialling = new Set<Http1BackendConnection>()
  /** Why the last connection attempt failed; '' after a success or a response on another connection. */
  #fault = ''
  #tlsContext: SecureContext | null = null

  constructor(origin: Origin, { limits, sweeper, log, connectDurations }: PoolContext) {
    this.#log = log
    this.#connectDurations = connectDurations
    this.origin = origin
    this.scheme = origin.tls === null ? 'http' : 'https'
    this.limits = limits
    this.clock = sweeper
    this.#sweeper = sweeper
  }

  /** Why the last connection attempt failed; null if it did not. */
  get fault(): string | null {
    return this.#fault === '' ? null : this.#fault
  }

  describe(): PoolView {
    return {
      origin: this.origin.label,
      open: this.#openCount,
      idle: this.#idle.length,
      sessions: this.#sessions.length,
      waiting: this.#waiting.length,
    }
  }

  /** Sends a call now or, if all connections are busy, as soon as one is free. */
  submit(call: HttpCall): void {
    const protocol = this.#protocolOf(call)
    const connection = protocol === 'http2' ? undefined : this.#takeIdle(call)
    const session =
      connection === undefined && protocol !== 'http1' ? this.#findSession() : undefined
    const free = connection ?? session
    if (free !== undefined) {
      if (this.#log?.allows('trace', 'forward') === true)
        this.#logEvent('trace', 'reusing connection')
      return free.send(call)
    }
    if (this.#openCount < this.limits.poolMaxSize) return this.#dial(call, protocol)
    const { poolMaxWaiting } = this.limits
    if (this.#waiting.length >= poolMaxWaiting)
      return call.failed(createPoolExhaustedError(poolMaxWaiting))
    this.#logEvent('debug', 'waiting for a connection')
    call.setHolder(this)
    this.#waiting.push(call)
    // An idle connection that the call cannot use gives up its place.
    if (protocol === 'http2') this.#idle.shift()?.abort()
  }

  /** Removes a cancelled call from the queue. */
  abort(call: HttpCall): void {
    const at = this.#waiting.indexOf(call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  resend(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    // On a new connection: the idle ones may be stale for the same reason.
    if (this.origin.tls === null) return this.#connect().sendAgain(call, parts)
    this.#open(call, ['http/1.1'], (socket) =>
      this.#addTlsConnection(socket as TLSSocket).sendAgain(call, parts),
    )
  }

  connectionIdle(connection: Http1BackendConnection): void {
    const call = this.#takeWaiting('http2')
    if (call !== undefined) connection.send(call)
    else if (this.#state === 'closed') connection.abort()
    else this.#idle.push(connection)
  }

  /** A pool with enough connections opens no new ones: a response also shows that the backend is reachable. */
  answered(): void {
    this.#fault = ''
  }

  connectionClosed(connection: Http1BackendConnection, error: Error | null): void {
    this.#sweeper.delete(connection)
    if (this.#dialling.delete(connection)) {
      // For the health view; the call gets its own error.
      if (error !== null) this.#fault = describeFaultCause(error)
      else if (connection.hasTimedOut) this.#fault = CONNECT_TIMED_OUT
    }
    const at = this.#idle.lastIndexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#connectionEnded()
  }

  /** Closes the half of the idle connections that was used longest ago. */
  trim(): void {
    const oldest = this.#idle.splice(0, Math.ceil(this.#idle.length / 2))
    for (const connection of oldest) connection.abort()
  }

  /** Closes the idle connections; those in use close after their calls. */
  close(): void {
    this.#state = 'closed'
    for (const connection of this.#idle.splice(0)) connection.abort()
    for (const session of this.#sessions) session.close()
  }

  /** Sends queued calls on a session that has room for more streams. */
  sessionHasRoom(session: Http2BackendSession): void {
    while (session.hasRoom) {
      const call = this.#takeWaiting('http1')
      if (call === undefined) return
      session.send(call)
    }
  }

  sessionClosed(session: Http2BackendSession): void {
    const at = this.#sessions.indexOf(session)
    if (at < 0) return
    this.#sessions.splice(at, 1)
    this.#sweeper.delete(session)
    this.#connectionEnded()
  }

  #dial(call: HttpCall, protocol: CallProtocol): void {
    this.#logEvent('debug', 'connecting')
    const { tls, version } = this.origin
    if (tls === null) {
      if (protocol === 'http2') this.#open(call, [], (socket) => this.#addSession(socket, call))
      else this.#connect().send(call)
      return
    }
    const isHttp2Only = protocol === 'http2' && version !== null
    const alpn = protocol === 'http1' ? ['http/1.1'] : isHttp2Only ? ['h2'] : tls.alpn
    this.#open(call, alpn, (socket) => {
      const secured = socket as TLSSocket
      if (isHttp2Only || secured.alpnProtocol === 'h2') this.#addSession(secured, call)
      else this.#addTlsConnection(secured).send(call)
    })
  }

  /** HTTP/2 has no `upgrade`, and gRPC needs HTTP/2. Without TLS nothing is negotiated. */
  #protocolOf(call: HttpCall): CallProtocol {
    const { tls, version } = this.origin
    if (call.exchange.request.upgrade !== '' || version === '1.1') return 'http1'
    if (version === '2' || call.isGrpc) return 'http2'
    return tls === null ? 'http1' : 'any'
  }

  /** The first call that waits and does not need the protocol `other`. */
  #takeWaiting(other: CallProtocol): HttpCall | undefined {
    if (this.#waiting.length === 0) return undefined
    const at = this.#waiting.findIndex((call) => this.#protocolOf(call) !== other)
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0]
  }

  #takeIdle(call: HttpCall): Http1BackendConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined) return undefined
      // A destroyed connection leaves the pool only when its socket emits 'close'.
      if (connection.isOver) continue
      if (!connection.hasEndedFor(call)) return connection
      connection.abort()
    }
  }

  #findSession(): Http2BackendSession | undefined {
    return this.#sessions.find((candidate) => candidate.hasRoom)
  }

  #open(call: HttpCall, alpn: readonly string[], use: (socket: Socket) => void): void {
    const { origin } = this
    if (origin.tls !== null) this.#tlsContext ??= createBackendTlsContext(origin.tls)
    this.#openCount++
    const failed = (reason: string | null): void => {
      if (reason !== null) this.#fault = reason
      this.#connectionEnded()
    }
    const timeout = this.limits.connectTimeout
    const startedAt = performance.now()
    const opened = (socket: Socket): void => {
      this.#recordConnected(startedAt)
      use(socket)
    }
    new BackendDial({ origin, context: this.#tlsContext, call, alpn, timeout, opened, failed })
  }

  #addSession(socket: Socket, call: HttpCall): void {
    const session = new Http2BackendSession(this, socket)
    this.#sessions.push(session)
    this.#sweeper.add(session)
    session.send(call)
    this.sessionHasRoom(session)
  }

  #addTlsConnection(socket: TLSSocket): Http1BackendConnection {
    const connection = new Http1BackendConnection(this)
    this.#sweeper.add(connection)
    connection.attach(TransportSocket.fromSecured(socket, connection))
    connection.connected()
    return connection
  }

  #connectionEnded(): void {
    this.#openCount--
    if (this.#openCount >= this.limits.poolMaxSize) return
    const call = this.#waiting.shift()
    if (call !== undefined) this.submit(call)
  }

  #connect(): Http1BackendConnection {
    const connection = new Http1BackendConnection(this)
    this.#openCount++
    this.#sweeper.add(connection)
    this.#dialling.add(connection)
    const startedAt = performance.now()
    const connected = (): void => {
      this.#dialling.delete(connection)
      this.#recordConnected(startedAt)
      connection.connected()
    }
    return connection.attach(TransportSocket.dial(this.origin.connect, connection, connected))
  }

  #logEvent(level: LoggingLevel, message: string): void {
    this.#log?.write(level, 'forward', message, [
      'endpoint',
      this.origin.label,
      'open',
      this.#openCount,
    ])
  }

  #recordConnected(startedAt: number): void {
    this.#fault = ''
    this.#connectDurations.add((performance.now() - startedAt) / 1000)
  }
}

function createPoolExhaustedError(maxWaiting: number): GatewayError {
  return new GatewayError(
    'POOL_EXHAUSTED',
    `upstream call failed: too many requests are waiting, at most ${maxWaiting} (config.backend.poolMaxWaiting)`,
    { limit: ['poolMaxWaiting', maxWaiting] },
  )
}
