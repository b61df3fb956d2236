// The connections to one origin: idle ones first, new ones within a bound, and a bounded queue behind it.
// A connection that does not come about fails the one call it was for and holds up nobody else.

import type { SecureContext, TLSSocket } from 'node:tls'
import type { BackendLimits } from '../../base/bounds/limits.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Histogram } from '../../base/live/metrics.ts'
import type { PoolView } from '../../base/live/views.ts'
import type { Level, Log } from '../../base/log/log.ts'
import type { Clock, Sweeper, Swept } from '../../base/sweeper.ts'
import { Wire } from '../../base/wire/socket.ts'
import type { Carrier, HttpCall } from './call.ts'
import { TlsDial, contextOf } from './dial-tls.ts'
import { LATE, reasonOf } from './fault.ts'
import { Http1Backend } from './http1.ts'
import type { Home } from './http1.ts'
import { Http2Backend } from './http2.ts'
import type { SessionHome } from './http2.ts'
import type { Origin } from './origin.ts'

/** What pools share. */
export interface PoolSurroundings {
  readonly limits: BackendLimits
  readonly sweeper: Sweeper<Swept>
  readonly log: Log | null
  /** Seconds until connections of this kind stood; for those that never did, nothing. */
  readonly connects: Histogram
}

export class Pool implements Home, SessionHome, Carrier {
  readonly limits: BackendLimits
  readonly origin: Origin
  readonly clock: Clock
  readonly #sweeper: Sweeper<Swept>
  readonly #log: Log | null
  readonly #connects: Histogram
  /** The one used last is used next, so that the others can grow old and go. */
  readonly #idle: Http1Backend[] = []
  /** Those that negotiated HTTP/2. */
  readonly #sessions: Http2Backend[] = []
  readonly #waiting: HttpCall[] = []
  /** Connections of either kind, and those under way. */
  #open = 0
  #state: 'open' | 'closed' = 'open'
  /** Plain connections that are not there yet. */
  readonly #dialling = new Set<Http1Backend>()
  /** Why the last connection did not come about; '' since it did, or since another was answered on. */
  #fault = ''
  #context: SecureContext | null = null

  constructor(origin: Origin, { limits, sweeper, log, connects }: PoolSurroundings) {
    this.#log = log
    this.#connects = connects
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
  take(call: HttpCall): void {
    let connection = this.#idle.pop()
    // One that was ended is `gone` only when its socket has closed.
    while (connection?.isOver === true) connection = this.#idle.pop()
    const session = connection === undefined ? this.#sessionFor(call) : undefined
    const free = connection ?? session
    if (free !== undefined) {
      if (this.#log?.allows('trace', 'forward') === true) this.#tell('trace', 'reusing connection')
      return free.send(call)
    }
    if (this.#open < this.limits.poolMaxSize) return this.#dial(call)
    const { poolMaxWaiting } = this.limits
    if (this.#waiting.length >= poolMaxWaiting) return call.failed(exhausted(poolMaxWaiting))
    this.#tell('debug', 'waiting for a connection')
    call.carriedBy(this)
    this.#waiting.push(call)
  }

  #tell(level: Level, message: string): void {
    this.#log?.line(level, 'forward', message, ['endpoint', this.origin.label, 'open', this.#open])
  }

  /** A call that waits here was cancelled. */
  abort(call: HttpCall): void {
    const at = this.#waiting.indexOf(call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  again(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    // Not from the idle ones: what ended this connection may have ended them too.
    if (this.origin.tls === null) return this.#connect().sendAgain(call, parts)
    const secured = (socket: TLSSocket): void => this.#secure(socket).sendAgain(call, parts)
    this.#dialTls(call, ['http/1.1'], secured)
  }

  free(connection: Http1Backend): void {
    const call = this.#waiting.shift()
    if (call !== undefined) connection.send(call)
    else if (this.#state === 'closed') connection.abort()
    else this.#idle.push(connection)
  }

  /** A pool that has connections enough dials no more: this is its word that the backend is there. */
  answered(): void {
    this.#fault = ''
  }

  gone(connection: Http1Backend, error: Error | null): void {
    this.#sweeper.delete(connection)
    if (this.#dialling.delete(connection)) {
      // For whoever looks at it; the call hears by itself.
      if (error !== null) this.#fault = reasonOf(error)
      else if (connection.isLate) this.#fault = LATE
    }
    const at = this.#idle.lastIndexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#left()
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
  roomIn(session: Http2Backend): void {
    while (this.#waiting.length > 0 && session.hasRoom) {
      const at = this.#waiting.findIndex((call) => !needsHttp1(call))
      if (at < 0) return
      session.send(this.#waiting.splice(at, 1)[0]!)
    }
  }

  sessionGone(session: Http2Backend): void {
    const at = this.#sessions.indexOf(session)
    if (at < 0) return
    this.#sessions.splice(at, 1)
    this.#sweeper.delete(session)
    this.#left()
  }

  #dial(call: HttpCall): void {
    this.#tell('debug', 'connecting')
    const { tls } = this.origin
    if (tls === null) return this.#connect().send(call)
    this.#dialTls(call, needsHttp1(call) ? ['http/1.1'] : tls.alpn, (socket) => {
      if (socket.alpnProtocol === 'h2') this.#session(socket, call)
      else this.#secure(socket).send(call)
    })
  }

  #sessionFor(call: HttpCall): Http2Backend | undefined {
    if (needsHttp1(call)) return undefined
    return this.#sessions.find((candidate) => candidate.hasRoom)
  }

  #dialTls(call: HttpCall, alpn: readonly string[], secured: (socket: TLSSocket) => void): void {
    const { origin } = this
    const context = (this.#context ??= contextOf(origin.tls!))
    this.#open++
    const failed = (reason: string | null): void => {
      if (reason !== null) this.#fault = reason
      this.#left()
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
    const session = new Http2Backend(this, socket)
    this.#sessions.push(session)
    this.#sweeper.add(session)
    session.send(call)
    this.roomIn(session)
  }

  #secure(socket: TLSSocket): Http1Backend {
    const connection = new Http1Backend(this)
    this.#sweeper.add(connection)
    connection.attach(Wire.secured(socket, connection))
    connection.connected()
    return connection
  }

  #left(): void {
    this.#open--
    if (this.#open >= this.limits.poolMaxSize) return
    const call = this.#waiting.shift()
    if (call !== undefined) this.take(call)
  }

  #connect(): Http1Backend {
    const connection = new Http1Backend(this)
    this.#open++
    this.#sweeper.add(connection)
    this.#dialling.add(connection)
    const since = performance.now()
    const connected = (): void => {
      this.#dialling.delete(connection)
      this.#connected(since)
      connection.connected()
    }
    return connection.attach(Wire.dial(this.origin.connect, connection, connected))
  }

  #connected(since: number): void {
    this.#fault = ''
    this.#connects.add((performance.now() - since) / 1000)
  }
}

function exhausted(most: number): GatewayError {
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
