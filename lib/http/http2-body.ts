// An HTTP/2 stream's two directions, as a body and as a sink.

import { EventEmitter } from 'node:events'
import type { Http2Stream, IncomingHttpHeaders } from 'node:http2'
import { bytesInFlight } from '../core/byte-budgets.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../core/types.ts'
import type { HeaderFields } from '../core/head.ts'
import { createHttp2Headers, parseHttp2Trailers, addHttp2Fields } from './http2-head.ts'
import { isSharedBuffer } from './llhttp.ts'
import { copyBuffer } from './transport-socket.ts'

const NO_TRAILERS = {}

/** For what a stream says of its faults: all of them are seen at its close. */
export function ignoreStreamError(): void {}

/**
 * Takes the listeners from a stream that is closed. Young collections spare what node holds weakly, as these streams, and
 * with it all that they lead to: a call is then copied, and copied again, until a full one.
 */
export function removeStreamListeners(stream: Http2Stream): void {
  // First the one that would be told of each of them. Not the stream's own way, which looks at it once more a turn later.
  EventEmitter.prototype.removeAllListeners.call(stream, 'removeListener')
  EventEmitter.prototype.removeAllListeners.call(stream)
  stream.on('error', ignoreStreamError)
}

/** Hears of its body, and tells it of the stream's close. */
export interface Http2BodyOwner {
  /** Nobody wants the rest. */
  bodyCancelled(): void
  /** Bytes came, so nobody is idle. */
  bodyProgressed(bytes: number): void
  bodyOver(): void
  /** Whether a trailer of this name must not be one. */
  refusesTrailer(name: string): boolean
  /** There was one. */
  bodyInvalid(): void
}

/** What a stream brings. Its end counts only when the stream was not reset. */
export class Http2Body implements Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly #stream: Http2Stream
  readonly #owner: Http2BodyOwner
  #sink: Sink | null = null
  #trailers: HeaderFields | null = null
  #isStarted = false
  /** What is counted of it as waiting for somebody. */
  #unread = 0
  /** All of it had come before the stream was reset. */
  #cameWhole = false

  /** `length` is -1 where none was said. */
  constructor(stream: Http2Stream, framing: BodyFraming, length: number, owner: Http2BodyOwner) {
    this.framing = framing
    this.length = length
    this.#stream = stream
    this.#owner = owner
    if (framing === 'none') return
    // They do not wait for somebody to read what comes before them.
    stream.on('trailers', (headers) => this.#end(headers))
  }

  /** The stream was reset. */
  aborted(): void {
    this.#cameWhole = hasEnded(this.#stream)
  }

  /** The stream is closed. */
  closed(): void {
    this.#weigh(0)
  }

  /** Nobody reads it yet, or nobody can go on. */
  get isWaiting(): boolean {
    return !this.#isStarted || this.#stream.isPaused()
  }

  /** Notes what waits here for somebody to take it; nobody tells when more has come. */
  updateUnreadCount(): void {
    if (this.framing === 'none' || this.#stream.destroyed) return
    this.#weigh(this.isWaiting ? this.#stream.readableLength : 0)
  }

  #weigh(unread: number): void {
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
      // A stream that was reset ends too; only `aborted` tells. One that was reset behind its end is whole
      // (RFC 9113 8.1: so says a backend that answers without waiting for the rest of the request).
      if (stream.rstCode !== 0 || (stream.aborted && !this.#cameWhole)) return
      const taken = this.takeSink()
      this.#owner.bodyOver()
      taken?.end(this.#trailers)
    })
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    // Until now the silence was ours.
    if (this.#sink !== null) this.#owner.bodyProgressed(0)
    this.#stream.resume()
  }

  cancel(): void {
    this.#sink = null
    this.#owner.bodyCancelled()
  }

  /** What still comes has no reader any more. */
  discardRest(): void {
    if (!this.#isStarted)
      this.#stream.on('data', (chunk: Buffer) => this.#owner.bodyProgressed(chunk.length))
    this.#stream.resume()
  }

  /** Whoever takes it must end or cut it. */
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

/** Whether the peer's END_STREAM is here, read or not; node ends a stream that was reset the same way, but later. */
function hasEnded(stream: Http2Stream): boolean {
  const { _readableState: state } = stream as { _readableState?: { ended?: boolean } }
  return state?.ended === true
}

export interface Http2SinkOwner {
  sent(): void
  sendCut(outcome: Outcome): void
  stalled(): void
  /** The peer takes again. */
  drained(): void
}

/** What goes out on a stream whose head is out already. */
export class Http2Sink implements Sink {
  readonly #stream: Http2Stream
  readonly #owner: Http2SinkOwner
  #body: Body | null = null
  #trailers: HeaderFields | null = null
  #written = 0
  /** What is counted of it as waiting for the peer. */
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

  /** Nobody is left to write to. */
  abort(): void {
    this.#body = null
  }

  /** The stream is closed. */
  closed(): void {
    this.#body = null
    this.#weigh(0)
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#body === null || this.#stream.destroyed) return true
    this.#written += to - from
    const part = bytes.subarray(from, to)
    const ok = this.#stream.write(isSharedBuffer(bytes) ? copyBuffer(part) : part)
    if (ok) return true
    if (this.#unsent === 0) this.#stream.once('drain', () => this.#drained())
    this.#weigh(this.#stream.writableLength)
    this.#owner.stalled()
    return false
  }

  #drained(): void {
    this.#weigh(0)
    this.#owner.drained()
    this.#body?.resume()
  }

  #weigh(unsent: number): void {
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
