// One client's HTTP/2 connection, by ALPN or by prior knowledge: each stream is an exchange of its own.

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
 * What a client may send ahead on one stream before we take it. There is no such bound on all of them together, as
 * node gives the connection's window back at once: a connection can hold this times `maxStreams`.
 */
const STREAM_WINDOW = 65_535
/** Not more in flight than this, whatever the streams' windows add up to. */
const CONNECTION_WINDOW = 1_048_576

/** A byte of a body may come in a frame and a record of its own, with all that belongs to them. */
const BYTES_PER_BODY_BYTE = 64

export class Http2Connection implements ClientConnection {
  readonly #door: ConnectionListener
  readonly #socket: Socket
  readonly #session: ServerHttp2Session
  readonly #pulse: Http2Liveness
  readonly #streams = new Set<Http2ServerStream>()
  readonly #source: ClientAddress
  readonly #id: number
  readonly #since = performance.now()
  /** Without a stream: until goodbye is said, then until the client has gone. 0 with one. */
  #idleBy: number
  #served = false
  readonly #gauge = new FloodDetector(this.#since)
  /** Bytes that streams which are over had a use for. */
  #used = 0

  constructor(door: ConnectionListener, socket: Socket, source: ClientAddress) {
    this.#door = door
    this.#socket = socket
    this.#id = door.nextConnectionId()
    this.#source = source
    const { limits } = door
    this.#idleBy = performance.now() + limits.headTimeout
    const session = performServerHandshake(socket, {
      // Somewhat more than allowed is answered; what is above that, node resets.
      maxHeaderListPairs: limits.maxHeaders * 2 + MAX_PSEUDO_FIELDS,
      settings: {
        enablePush: false,
        maxConcurrentStreams: limits.maxStreams,
        initialWindowSize: STREAM_WINDOW,
        maxHeaderListSize: limits.maxHeadBytes,
      },
    })
    this.#session = session
    this.#pulse = new Http2Liveness(session, socket)
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.on('error', () => {})
    // A session that ended by itself says goodbye and waits; only the socket's end is the end.
    session.on('close', () => this.#linger())
    socket.once('finish', () => this.#linger())
    socket.once('close', () => {
      door.connections.delete(this)
      door.recordClosed(source, this.bytesIn, this.bytesOut)
    })
    session.on('stream', (stream: ServerHttp2Stream, _headers, _flags, raw?: string[]) => {
      const exchange = new Http2ServerStream(door, source, stream, raw ?? [])
      this.#streams.add(exchange)
      this.#served = true
      this.#idleBy = 0
      stream.on('close', () => this.#left(exchange, stream.rstCode))
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
      exchanges: limitList(
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
    if (this.#isNoisy(now)) this.#calm()
    if (this.#idleBy === 0 || now <= this.#idleBy) return
    if (this.#isOver) this.#socket.destroy()
    else this.drain()
  }

  #left(exchange: Http2ServerStream, reset: number): void {
    exchange.closed()
    this.#streams.delete(exchange)
    this.#used += usefulBytesOf(exchange)
    const wasLeft = exchange.wasAbandoned || reset === constants.NGHTTP2_CANCEL
    // Above its own bound nghttp2 gives the session up and node does not hear of it: ours is lower.
    if (wasLeft && this.#gauge.countAbandonedStream(performance.now())) return this.#calm()
    if (this.#streams.size === 0) this.#idle()
  }

  /** Frames that ask for nothing are answered, or not even that, inside of node: only their bytes are seen. */
  #isNoisy(now: number): boolean {
    let used = this.#used + this.bytesOut
    for (const stream of this.#streams) used += usefulBytesOf(stream)
    return this.#gauge.countIdleBytes(now, this.bytesIn, used, this.#streams.size * STREAM_WINDOW)
  }

  /** Tells a flood to stop, if it listens, and reads no more of it. */
  #calm(): void {
    if (this.#session.destroyed) return
    this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    this.#session.destroy()
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

function usefulBytesOf({ headBytes, receivedBytes }: Http2ServerStream): number {
  return headBytes + receivedBytes * BYTES_PER_BODY_BYTE
}

// Tells an HTTP/2 client that works from one that only keeps us busy: it counts streams that were left before their answer,
// and bytes that brought neither a request nor anything of its body.

/** Streams a client may open and leave: so many at once, then at this rate. */
const LEFT_BURST = 500
const LEFT_PER_SECOND = 30

/** Bytes of frames that serve nothing: so many at once, then at this rate. */
const NOISE_BURST = 1_048_576
const NOISE_PER_SECOND = 65_536

export class FloodDetector {
  #left = LEFT_BURST
  #leftAt: number
  #noise = 0
  #noiseAt: number
  #came = 0
  #explained = 0

  constructor(now: number) {
    this.#leftAt = now
    this.#noiseAt = now
  }

  /** One more was left; true when it is one too many. */
  countAbandonedStream(now: number): boolean {
    const refilled = this.#left + ((now - this.#leftAt) / 1000) * LEFT_PER_SECOND
    this.#left = Math.min(LEFT_BURST, refilled) - 1
    this.#leftAt = now
    return this.#left < 0
  }

  /**
   * `came` and `explained` are bytes since the connection began, `held` what may lie unread; true when too many of them
   * have no reason.
   */
  countIdleBytes(now: number, came: number, explained: number, held: number): boolean {
    const fresh = came - this.#came - (explained - this.#explained)
    const forgiven = ((now - this.#noiseAt) / 1000) * NOISE_PER_SECOND
    this.#noise = Math.max(0, this.#noise + fresh - forgiven)
    this.#noiseAt = now
    this.#came = came
    this.#explained = explained
    return this.#noise > NOISE_BURST + held
  }
}
