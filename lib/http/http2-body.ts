// The two directions of an HTTP/2 stream, as a body and as a sink.

import { EventEmitter } from 'node:events'
import type { Http2Stream, IncomingHttpHeaders } from 'node:http2'
import { bytesInFlight } from '../core/byte-budgets.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../core/types.ts'
import type { HeaderFields } from '../core/head.ts'
import { createHttp2Headers, parseHttp2Trailers, addHttp2Fields } from './http2-head.ts'
import { isSharedBuffer } from './llhttp.ts'
import { copyBuffer } from './transport-socket.ts'

const NO_TRAILERS = {}

/** Errors of a stream are handled at its close. */
export function ignoreStreamError(): void {}

/**
 * Removes the listeners of a closed stream. Node holds these streams weakly, which young collections do not free: they and
 * everything they reference would be copied until a full collection.
 */
export function removeStreamListeners(stream: Http2Stream): void {
  // First the one that is called for each removal. Not the stream's own method, which reads the stream again a turn later.
  EventEmitter.prototype.removeAllListeners.call(stream, 'removeListener')
  EventEmitter.prototype.removeAllListeners.call(stream)
  stream.on('error', ignoreStreamError)
}

/** The owner of a body; it calls the body when the stream is reset or closed. */
export interface Http2BodyOwner {
  /** The rest is not needed. */
  bodyCancelled(): void
  /** Bytes arrived, so the peer is not idle. */
  bodyProgressed(bytes: number): void
  bodyOver(): void
  /** Whether a trailer of this name is refused. */
  refusesTrailer(name: string): boolean
  /** A refused trailer arrived. */
  bodyInvalid(): void
}

/** The incoming direction of a stream. Its end counts only if the stream was not reset. */
export class Http2Body implements Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly #stream: Http2Stream
  readonly #owner: Http2BodyOwner
  #sink: Sink | null = null
  #trailers: HeaderFields | null = null
  #isStarted = false
  /** Bytes of it that are counted as unread. */
  #unread = 0
  /** Whether the body was complete before the stream was reset. */
  #wasComplete = false

  /** `length` is -1 if it is unknown. */
  constructor(stream: Http2Stream, framing: BodyFraming, length: number, owner: Http2BodyOwner) {
    this.framing = framing
    this.length = length
    this.#stream = stream
    this.#owner = owner
    if (framing === 'none') return
    // Trailers are reported before the data in front of them is read.
    stream.on('trailers', (headers) => this.#end(headers))
  }

  /** The stream was reset. */
  aborted(): void {
    this.#wasComplete = hasEnded(this.#stream)
  }

  /** The stream is closed. */
  closed(): void {
    this.#updateCount(0)
  }

  /** The body is not started, or paused. */
  get isWaiting(): boolean {
    return !this.#isStarted || this.#stream.isPaused()
  }

  /** Updates the count of unread bytes; node reports nothing while the stream is paused. */
  updateUnreadCount(): void {
    if (this.framing === 'none' || this.#stream.destroyed) return
    this.#updateCount(this.isWaiting ? this.#stream.readableLength : 0)
  }

  #updateCount(unread: number): void {
    bytesInFlight.unread += unread - this.#unread
    this.#unread = unread
  }

  start(sink: Sink, _form: BodyForm): void {
    if (this.framing === 'none') return sink.end(null)
    const stream = this.#stream
    this.#sink = sink
    this.#isStarted = true
    stream.on('data', (chunk: Buffer) => {
      this.#owner.bodyProgressed(chunk.length)
      if (this.#sink?.write(chunk, 0, chunk.length) === false) stream.pause()
    })
    stream.on('end', () => {
      // A stream that was reset ends too; only `aborted` tells. One that was reset after its end is complete (RFC 9113 8.1:
      // a backend that responds without waiting for the rest of the request does so).
      if (stream.rstCode !== 0 || (stream.aborted && !this.#wasComplete)) return
      const openSink = this.takeSink()
      this.#owner.bodyOver()
      openSink?.end(this.#trailers)
    })
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    // Until now the gateway itself caused the silence.
    if (this.#sink !== null) this.#owner.bodyProgressed(0)
    this.#stream.resume()
  }

  cancel(): void {
    this.#sink = null
    this.#owner.bodyCancelled()
  }

  /** Reads and drops the rest. */
  discardRest(): void {
    if (!this.#isStarted)
      this.#stream.on('data', (chunk: Buffer) => this.#owner.bodyProgressed(chunk.length))
    this.#stream.resume()
  }

  /** The caller must end or cut the sink. */
  takeSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    return sink
  }

  #end(headers: IncomingHttpHeaders): void {
    this.#trailers = parseHttp2Trailers(headers, (name) => this.#owner.refusesTrailer(name))
    if (this.#trailers === null) this.#owner.bodyInvalid()
  }
}

/** Whether END_STREAM of the peer has arrived, read or not; node ends a reset stream in the same way, but later. */
function hasEnded(stream: Http2Stream): boolean {
  const { _readableState: state } = stream as { _readableState?: { ended?: boolean } }
  return state?.ended === true
}

export interface Http2SinkOwner {
  sent(): void
  sendCut(outcome: Outcome): void
  stalled(): void
  /** The peer takes data again. */
  drained(): void
}

/** The outgoing direction of a stream whose head has been sent. */
export class Http2Sink implements Sink {
  readonly #stream: Http2Stream
  readonly #owner: Http2SinkOwner
  #body: Body | null = null
  #trailers: HeaderFields | null = null
  #written = 0
  /** Bytes of it that are counted as unsent. */
  #unsent = 0

  constructor(stream: Http2Stream, owner: Http2SinkOwner) {
    this.#stream = stream
    this.#owner = owner
  }

  get bytesWritten(): number {
    return this.#written
  }

  send(body: Body): void {
    this.#body = body
    const stream = this.#stream
    stream.on('wantTrailers', () => {
      const trailers = this.#trailers
      stream.sendTrailers(
        trailers === null ? NO_TRAILERS : addHttp2Fields(createHttp2Headers(), trailers),
      )
    })
    body.start(this, 'content')
  }

  /** The peer is gone. */
  abort(): void {
    this.#body = null
  }

  /** The stream is closed. */
  closed(): void {
    this.#body = null
    this.#updateCount(0)
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#body === null || this.#stream.destroyed) return true
    this.#written += to - from
    const part = bytes.subarray(from, to)
    const ok = this.#stream.write(isSharedBuffer(bytes) ? copyBuffer(part) : part)
    if (ok) return true
    if (this.#unsent === 0) this.#stream.once('drain', () => this.#drained())
    this.#updateCount(this.#stream.writableLength)
    this.#owner.stalled()
    return false
  }

  #drained(): void {
    this.#updateCount(0)
    this.#owner.drained()
    this.#body?.resume()
  }

  #updateCount(unsent: number): void {
    bytesInFlight.unsent += unsent - this.#unsent
    this.#unsent = unsent
  }

  end(trailers: HeaderFields | null): void {
    if (this.#body === null) return
    this.#body = null
    this.#trailers = trailers
    this.#stream.end()
    this.#owner.sent()
  }

  cut(outcome: Outcome): void {
    if (this.#body === null) return
    this.#body = null
    this.#owner.sendCut(outcome)
  }
}
