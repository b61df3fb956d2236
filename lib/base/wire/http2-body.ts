// An HTTP/2 stream's two directions, as a body and as a sink.

import { EventEmitter } from 'node:events'
import type { Http2Stream, IncomingHttpHeaders } from 'node:http2'
import { inFlight } from '../bounds/in-flight.ts'
import type { Body, Form, Framing, Outcome, Sink } from '../types.ts'
import type { Fields } from './head.ts'
import { noHeaders, trailersFrom, withFields } from './http2-head.ts'
import { isShared } from './memory.ts'
import { copyOf } from './socket.ts'

const NO_TRAILERS = {}

/** For what a stream says of its faults: all of them are seen at its close. */
export function ignored(): void {}

/**
 * Takes the listeners from a stream that is closed. Young collections spare what node holds weakly, as these streams, and
 * with it all that they lead to: a call is then copied, and copied again, until a full one.
 */
export function forget(stream: Http2Stream): void {
  // First the one that would be told of each of them. Not the stream's own way, which looks at it once more a turn later.
  EventEmitter.prototype.removeAllListeners.call(stream, 'removeListener')
  EventEmitter.prototype.removeAllListeners.call(stream)
  stream.on('error', ignored)
}

/** Hears of its body, and tells it of the stream's close. */
export interface StreamBodyOwner {
  /** Nobody wants the rest. */
  bodyCancelled(): void
  /** Bytes came, so nobody is idle. */
  bodyMoved(bytes: number): void
  bodyOver(): void
  /** Whether a trailer of this name must not be one. */
  refusesTrailer(name: string): boolean
  /** There was one. */
  bodySpoilt(): void
}

/** What a stream brings. Its end counts only when the stream was not reset. */
export class StreamBody implements Body {
  readonly framing: Framing
  readonly length: number
  readonly #stream: Http2Stream
  readonly #owner: StreamBodyOwner
  #sink: Sink | null = null
  #trailers: Fields | null = null
  #isStarted = false
  /** What is counted of it as waiting for somebody. */
  #unread = 0
  /** All of it had come before the stream was reset. */
  #cameWhole = false

  /** `length` is -1 where none was said. */
  constructor(stream: Http2Stream, framing: Framing, length: number, owner: StreamBodyOwner) {
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
  get isHeld(): boolean {
    return !this.#isStarted || this.#stream.isPaused()
  }

  /** Notes what waits here for somebody to take it; nobody tells when more has come. */
  weigh(): void {
    if (this.framing === 'none' || this.#stream.destroyed) return
    this.#weigh(this.isHeld ? this.#stream.readableLength : 0)
  }

  #weigh(unread: number): void {
    inFlight.unread += unread - this.#unread
    this.#unread = unread
  }

  start(sink: Sink, _form: Form): void {
    if (this.framing === 'none') return sink.end(null)
    const stream = this.#stream
    this.#sink = sink
    this.#isStarted = true
    stream.on('data', (chunk: Buffer) => {
      this.#owner.bodyMoved(chunk.length)
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
    if (this.#sink !== null) this.#owner.bodyMoved(0)
    this.#stream.resume()
  }

  cancel(): void {
    this.#sink = null
    this.#owner.bodyCancelled()
  }

  /** What still comes has no reader any more. */
  drop(): void {
    if (!this.#isStarted)
      this.#stream.on('data', (chunk: Buffer) => this.#owner.bodyMoved(chunk.length))
    this.#stream.resume()
  }

  /** Whoever takes it must end or cut it. */
  takeSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    return sink
  }

  #end(headers: IncomingHttpHeaders): void {
    this.#trailers = trailersFrom(headers, (name) => this.#owner.refusesTrailer(name))
    if (this.#trailers === null) this.#owner.bodySpoilt()
  }
}

/** Whether the peer's END_STREAM is here, read or not; node ends a stream that was reset the same way, but later. */
function hasEnded(stream: Http2Stream): boolean {
  const { _readableState: state } = stream as { _readableState?: { ended?: boolean } }
  return state?.ended === true
}

export interface StreamSinkOwner {
  sent(): void
  sendCut(outcome: Outcome): void
  stalled(): void
  /** The peer takes again. */
  drained(): void
}

/** What goes out on a stream whose head is out already. */
export class StreamSink implements Sink {
  readonly #stream: Http2Stream
  readonly #owner: StreamSinkOwner
  #body: Body | null = null
  #trailers: Fields | null = null
  #written = 0
  /** What is counted of it as waiting for the peer. */
  #unsent = 0

  constructor(stream: Http2Stream, owner: StreamSinkOwner) {
    this.#stream = stream
    this.#owner = owner
  }

  get written(): number {
    return this.#written
  }

  send(body: Body): void {
    this.#body = body
    const stream = this.#stream
    stream.on('wantTrailers', () => {
      const trailers = this.#trailers
      stream.sendTrailers(trailers === null ? NO_TRAILERS : withFields(noHeaders(), trailers))
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
    const ok = this.#stream.write(isShared(bytes) ? copyOf(part) : part)
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
    inFlight.unsent += unsent - this.#unsent
    this.#unsent = unsent
  }

  end(trailers: Fields | null): void {
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
