// One client's HTTP/2 connection, by ALPN or by prior knowledge: each stream is an exchange of its own.

import { performServerHandshake } from 'node:http2'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { LINGER_MS } from '../base/limits.ts'
import type { Connection, Door } from './door.ts'
import { Http2Stream } from './http2-stream.ts'
import { peerOf } from './peer.ts'

/**
 * What a client may send ahead on one stream before we take it. There is no such bound on all of them together, as
 * node gives the connection's window back at once: a connection can hold this times `maxStreams`.
 */
const STREAM_WINDOW = 65_535
/** Not more in flight than this, whatever the streams' windows add up to. */
const CONNECTION_WINDOW = 1_048_576

export class Http2Connection implements Connection {
  readonly #door: Door
  readonly #socket: Socket
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<Http2Stream>()
  /** Without a stream: until goodbye is said, then until the client has gone. 0 with one. */
  #idleBy: number

  constructor(door: Door, socket: Socket) {
    this.#door = door
    this.#socket = socket
    const source = peerOf(socket, door.isSecure)
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
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.on('error', () => {})
    session.on('close', () => door.connections.delete(this))
    socket.once('finish', () => (this.#idleBy = performance.now() + LINGER_MS))
    session.on('stream', (stream: ServerHttp2Stream, _headers, _flags, raw?: string[]) => {
      const exchange = new Http2Stream(door, source, stream, raw ?? [])
      this.#streams.add(exchange)
      this.#idleBy = 0
      stream.once('close', () => this.#left(exchange))
    })
    door.connections.add(this)
  }

  /** Says GOAWAY; streams in work finish. */
  drain(): void {
    if (this.#session.closed) return
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
    for (const stream of this.#streams) stream.sweep(now)
    if (this.#idleBy === 0 || now <= this.#idleBy) return
    if (this.#session.closed) this.#socket.destroy()
    else this.drain()
  }

  #left(exchange: Http2Stream): void {
    this.#streams.delete(exchange)
    if (this.#streams.size === 0) this.#idle()
  }

  #idle(): void {
    const { keepAliveTimeout, responseIdleTimeout } = this.#door.limits
    this.#idleBy =
      performance.now() + (this.#session.closed ? responseIdleTimeout : keepAliveTimeout)
  }
}
