// The HTTP/2 connection of one client, by ALPN or by prior knowledge: each stream is an exchange. Also detects floods.

import { constants, performServerHandshake } from 'node:http2'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { LINGER_MS } from '../core/bounds.ts'
import type { Exchange } from '../core/exchange.ts'
import { limitList } from '../core/runtime-views.ts'
import type { ConnectionView } from '../core/runtime-views.ts'
import type { ClientAddress } from '../core/types.ts'
import { Http2Liveness } from '../http/http2-liveness.ts'
import type { ClientConnection, ConnectionListener } from './connection-listener.ts'
import { Http2ServerStream, MAX_PSEUDO_FIELDS } from './http2-stream.ts'

/**
 * Bytes that a client may send on one stream before the gateway reads them. Node reopens the connection's window at once,
 * so all streams together have no such bound: a connection can hold this times `maxStreams`.
 */
const STREAM_WINDOW = 65_535
/** The most bytes in flight on a connection, independent of the sum of its streams' windows. */
const CONNECTION_WINDOW = 1_048_576

/** Each body byte may arrive in its own frame and TLS record, with their overhead. */
const BYTES_PER_BODY_BYTE = 64

export class Http2Connection implements ClientConnection {
  readonly #listener: ConnectionListener
  readonly #socket: Socket
  readonly #session: ServerHttp2Session
  readonly #liveness: Http2Liveness
  readonly #streams = new Set<Http2ServerStream>()
  readonly #source: ClientAddress
  readonly #id: number
  readonly #openedAt = performance.now()
  /** Without a stream: the time of the GOAWAY, then the time to close the socket. 0 while a stream is open. */
  #idleDeadline: number
  #hasServed = false
  readonly #floodDetector = new FloodDetector(this.#openedAt)
  /** Useful bytes of closed streams. */
  #usefulBytes = 0

  constructor(listener: ConnectionListener, socket: Socket, source: ClientAddress) {
    this.#listener = listener
    this.#socket = socket
    this.#id = listener.nextConnectionId()
    this.#source = source
    const { limits } = listener
    this.#idleDeadline = performance.now() + limits.headTimeout
    const session = performServerHandshake(socket, {
      // Up to twice the allowed fields get an error response; node resets streams with more.
      maxHeaderListPairs: limits.maxHeaders * 2 + MAX_PSEUDO_FIELDS,
      settings: {
        enablePush: false,
        maxConcurrentStreams: limits.maxStreams,
        initialWindowSize: STREAM_WINDOW,
        maxHeaderListSize: limits.maxHeadBytes,
      },
    })
    this.#session = session
    this.#liveness = new Http2Liveness(session, socket)
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.on('error', () => {})
    // After the session has closed, its GOAWAY is still being written; the connection ends with the socket.
    session.on('close', () => this.#linger())
    socket.once('finish', () => this.#linger())
    socket.once('close', () => {
      listener.connections.delete(this)
      listener.recordClosed(source, this.bytesIn, this.bytesOut)
    })
    session.on('stream', (stream: ServerHttp2Stream, _headers, _flags, raw?: string[]) => {
      const serverStream = new Http2ServerStream(listener, source, stream, raw ?? [])
      this.#streams.add(serverStream)
      this.#hasServed = true
      this.#idleDeadline = 0
      stream.on('close', () => this.#streamClosed(serverStream, stream.rstCode))
    })
    listener.connections.add(this)
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
      age: Math.round(now - this.#openedAt),
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      exchanges: limitList(
        [...this.#streams].filter(({ exchange }) => exchange !== null),
        (stream) => stream.describe(now),
      ),
    }
  }

  /** Sends GOAWAY; open streams finish. */
  drain(): void {
    if (this.#isOver) return
    this.#session.close()
    if (this.#streams.size === 0) this.#startIdleTimeout()
  }

  shutDown(): void {
    for (const stream of this.#streams) stream.shutDown()
    this.#session.destroy()
    // The last frames are written in this turn of the event loop.
    setImmediate(() => this.#socket.destroy())
  }

  sweep(now: number): void {
    if (this.#liveness.isDead()) return void this.#socket.destroy()
    for (const stream of this.#streams) stream.sweep(now)
    if (this.#isFlooding(now)) this.#rejectFlood()
    if (this.#idleDeadline === 0 || now <= this.#idleDeadline) return
    if (this.#isOver) this.#socket.destroy()
    else this.drain()
  }

  #streamClosed(stream: Http2ServerStream, resetCode: number): void {
    stream.closed()
    this.#streams.delete(stream)
    this.#usefulBytes += usefulBytesOf(stream)
    const wasAbandoned = stream.wasAbandoned || resetCode === constants.NGHTTP2_CANCEL
    // nghttp2 drops the session above its own bound without an event in node: this bound is lower.
    if (wasAbandoned && this.#floodDetector.countAbandonedStream(performance.now()))
      return this.#rejectFlood()
    if (this.#streams.size === 0) this.#startIdleTimeout()
  }

  /** Node handles control frames internally: a flood of them is visible only as bytes on the socket. */
  #isFlooding(now: number): boolean {
    let useful = this.#usefulBytes + this.bytesOut
    for (const stream of this.#streams) useful += usefulBytesOf(stream)
    return this.#floodDetector.countUselessBytes(
      now,
      this.bytesIn,
      useful,
      this.#streams.size * STREAM_WINDOW,
    )
  }

  /** Sends GOAWAY with ENHANCE_YOUR_CALM and stops reading. */
  #rejectFlood(): void {
    if (this.#session.destroyed) return
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    this.#session.destroy()
  }

  get #isOver(): boolean {
    return this.#session.closed || this.#session.destroyed
  }

  /** After GOAWAY, a client that got a response may still be reading it; one without a request has nothing to read. */
  #startIdleTimeout(): void {
    // The connection was accepted while the listener was draining.
    if (this.#listener.isDraining && this.#hasServed && !this.#isOver) return this.drain()
    const { keepAliveTimeout, responseIdleTimeout } = this.#listener.limits
    const afterGoAway = this.#hasServed ? responseIdleTimeout : LINGER_MS
    this.#idleDeadline = performance.now() + (this.#isOver ? afterGoAway : keepAliveTimeout)
  }

  #linger(): void {
    this.#idleDeadline = performance.now() + LINGER_MS
  }
}

function usefulBytesOf({ headBytes, receivedBytes }: Http2ServerStream): number {
  return headBytes + receivedBytes * BYTES_PER_BODY_BYTE
}

/** Streams that a client may abandon: a burst, then a rate. */
const ABANDONED_BURST = 500
const ABANDONED_PER_SECOND = 30

/** Useless bytes that a client may send: a burst, then a rate. */
const USELESS_BURST = 1_048_576
const USELESS_PER_SECOND = 65_536

/** Counts streams abandoned before their response, and bytes that are part of neither a head nor a body. */
export class FloodDetector {
  #abandonable = ABANDONED_BURST
  #abandonedAt: number
  #useless = 0
  #checkedAt: number
  #received = 0
  #useful = 0

  constructor(now: number) {
    this.#abandonedAt = now
    this.#checkedAt = now
  }

  /** Counts one abandoned stream; true if there were too many. */
  countAbandonedStream(now: number): boolean {
    const refill = ((now - this.#abandonedAt) / 1000) * ABANDONED_PER_SECOND
    this.#abandonable = Math.min(ABANDONED_BURST, this.#abandonable + refill) - 1
    this.#abandonedAt = now
    return this.#abandonable < 0
  }

  /**
   * True if the client sent too many useless bytes. `received` and `useful` are sums since the connection opened,
   * `unread` is the most that can be received and not yet counted as useful.
   */
  countUselessBytes(now: number, received: number, useful: number, unread: number): boolean {
    const added = received - this.#received - (useful - this.#useful)
    const allowance = ((now - this.#checkedAt) / 1000) * USELESS_PER_SECOND
    this.#useless = Math.max(0, this.#useless + added - allowance)
    this.#checkedAt = now
    this.#received = received
    this.#useful = useful
    return this.#useless > USELESS_BURST + unread
  }
}
