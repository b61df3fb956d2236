// One client's HTTP/2 connection, by ALPN or by prior knowledge: each stream is an exchange of its own.

import { constants, performServerHandshake } from 'node:http2'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Exchange } from '../base/exchange.ts'
import { LINGER_MS } from '../base/limits.ts'
import { someOf } from '../base/live.ts'
import type { ConnectionView } from '../base/live.ts'
import type { Peer } from '../base/types.ts'
import { Http2Pulse } from '../base/wire/http2-pulse.ts'
import type { Connection, Door } from './door.ts'
import { Http2Stream } from './http2-stream.ts'

/**
 * What a client may send ahead on one stream before we take it. There is no such bound on all of them together, as
 * node gives the connection's window back at once: a connection can hold this times `maxStreams`.
 */
const STREAM_WINDOW = 65_535
/** Not more in flight than this, whatever the streams' windows add up to. */
const CONNECTION_WINDOW = 1_048_576

/** Streams a client may open and reset: so many at once, then at this rate. */
const RESET_BURST = 500
const RESETS_PER_SECOND = 30

export class Http2Connection implements Connection {
  readonly #door: Door
  readonly #socket: Socket
  readonly #session: ServerHttp2Session
  readonly #pulse: Http2Pulse
  readonly #streams = new Set<Http2Stream>()
  readonly #source: Peer
  readonly #id: number
  readonly #since = performance.now()
  /** Without a stream: until goodbye is said, then until the client has gone. 0 with one. */
  #idleBy: number
  #served = false
  /** Streams the client may still reset. */
  #resets = RESET_BURST
  #resetAt = 0

  constructor(door: Door, socket: Socket, source: Peer) {
    this.#door = door
    this.#socket = socket
    this.#id = door.number()
    this.#source = source
    const { limits } = door
    this.#idleBy = performance.now() + limits.headTimeout
    const session = performServerHandshake(socket, {
      maxHeaderListPairs: limits.maxHeaders + 4,
      settings: {
        enablePush: false,
        maxConcurrentStreams: limits.maxStreams,
        initialWindowSize: STREAM_WINDOW,
        maxHeaderListSize: limits.maxHeadBytes,
      },
    })
    this.#session = session
    this.#pulse = new Http2Pulse(session, socket)
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.on('error', () => {})
    // A session that ended by itself says goodbye and waits; only the socket's end is the end.
    session.on('close', () => this.#linger())
    socket.once('finish', () => this.#linger())
    socket.once('close', () => {
      door.connections.delete(this)
      door.carried(source, this.bytesIn, this.bytesOut)
    })
    session.on('stream', (stream: ServerHttp2Stream, _headers, _flags, raw?: string[]) => {
      const exchange = new Http2Stream(door, source, stream, raw ?? [])
      this.#streams.add(exchange)
      this.#served = true
      this.#idleBy = 0
      stream.once('close', () => this.#left(exchange, stream.rstCode))
    })
    door.connections.add(this)
  }

  get bytesIn(): number {
    return this.#socket.bytesRead
  }

  get bytesOut(): number {
    return this.#socket.bytesWritten
  }

  get exchanges(): Exchange[] {
    return [...this.#streams].flatMap(({ exchange }) => (exchange === null ? [] : [exchange]))
  }

  describe(now: number): ConnectionView {
    return {
      id: this.#id,
      peer: this.#source.label,
      protocol: 'h2',
      age: Math.round(now - this.#since),
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      exchanges: someOf(
        [...this.#streams].filter(({ exchange }) => exchange !== null),
        (stream) => stream.describe(now),
      ),
    }
  }

  /** Says GOAWAY; streams in work finish. */
  drain(): void {
    if (this.#isOver) return
    this.#session.close()
    if (this.#streams.size === 0) this.#idle()
  }

  shutDown(): void {
    for (const stream of this.#streams) stream.shutDown()
    this.#session.destroy()
    // The last frames leave in this turn or never.
    setImmediate(() => this.#socket.destroy())
  }

  sweep(now: number): void {
    if (this.#pulse.isDead()) return void this.#socket.destroy()
    for (const stream of this.#streams) stream.sweep(now)
    if (this.#idleBy === 0 || now <= this.#idleBy) return
    if (this.#isOver) this.#socket.destroy()
    else this.drain()
  }

  #left(exchange: Http2Stream, reset: number): void {
    this.#streams.delete(exchange)
    if (reset === constants.NGHTTP2_CANCEL && this.#isFlood()) return void this.#socket.destroy()
    if (this.#streams.size === 0) this.#idle()
  }

  /** Above its own bound nghttp2 gives the session up and node does not hear of it: ours is lower. */
  #isFlood(): boolean {
    const now = performance.now()
    const refilled = this.#resets + ((now - this.#resetAt) / 1000) * RESETS_PER_SECOND
    this.#resets = Math.min(RESET_BURST, refilled) - 1
    this.#resetAt = now
    return this.#resets < 0
  }

  get #isOver(): boolean {
    return this.#session.closed || this.#session.destroyed
  }

  /** After goodbye, a client that was answered may still be reading; one that never asked has nothing to read. */
  #idle(): void {
    // It came in while others were leaving.
    if (this.#door.isDraining && this.#served && !this.#isOver) return this.drain()
    const { keepAliveTimeout, responseIdleTimeout } = this.#door.limits
    const afterGoodbye = this.#served ? responseIdleTimeout : LINGER_MS
    this.#idleBy = performance.now() + (this.#isOver ? afterGoodbye : keepAliveTimeout)
  }

  #linger(): void {
    this.#idleBy = performance.now() + LINGER_MS
  }
}
