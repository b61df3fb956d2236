// One client's HTTP/2 connection, by ALPN or by prior knowledge: each stream is an exchange of its own.

import { performServerHandshake } from 'node:http2'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Connection, Door } from './door.ts'
import { Http2Stream } from './http2-stream.ts'
import { peerOf } from './peer.ts'

/** What a client may send ahead on one stream, and on all of them, before we take it. */
const STREAM_WINDOW = 262_144
const CONNECTION_WINDOW = 1_048_576

export class Http2Connection implements Connection {
  readonly #door: Door
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<Http2Stream>()
  #idleBy: number

  constructor(door: Door, socket: Socket) {
    this.#door = door
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
    if (!this.#session.closed) this.#session.close()
  }

  shutDown(): void {
    for (const stream of this.#streams) stream.shutDown()
    this.#session.destroy()
  }

  sweep(now: number): void {
    for (const stream of this.#streams) stream.sweep(now)
    if (this.#idleBy === 0 || now <= this.#idleBy) return
    this.#idleBy = 0
    this.#session.close()
  }

  #left(exchange: Http2Stream): void {
    this.#streams.delete(exchange)
    if (this.#streams.size === 0)
      this.#idleBy = performance.now() + this.#door.limits.keepAliveTimeout
  }
}
