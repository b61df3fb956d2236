// An HTTP/2 stream's two directions, as a body and as a sink.

import type { Http2Stream, IncomingHttpHeaders } from 'node:http2'
import { inFlight } from '../in-flight.ts'
import type { Body, Form, Framing, Outcome, Sink } from '../types.ts'
import type { Fields } from './head.ts'
import { http2Fields, trailersFrom } from './http2-head.ts'
import { isShared } from './memory.ts'
import { copyOf } from './socket.ts'

export interface StreamBodyOptions {
  framing: Framing
  length: number
  /** Nobody wants the rest. */
  cancel(): void
  /** Bytes came, so nobody is idle. */
  moved(bytes: number): void
  over(): void
  /** Whether a trailer of this name must not be one. */
  refusesTrailer(name: string): boolean
  /** There was one. */
  spoilt(): void
}

/** What a stream brings. Its end counts only when the stream was not reset. */
export class StreamBody implements Body {
  readonly framing: Framing
  readonly length: number
  readonly #stream: Http2Stream
  readonly #options: StreamBodyOptions
  #sink: Sink | null = null
  #trailers: Fields | null = null
  #isStarted = false
  /** What is counted of it as waiting for somebody. */
  #unread = 0
  /** All of it had come before the stream was reset. */
  #cameWhole = false

  constructor(stream: Http2Stream, options: StreamBodyOptions) {
    this.framing = options.framing
    this.length = options.length
    this.#stream = stream
    this.#options = options
    // They do not wait for somebody to read what comes before them.
    if (options.framing !== 'none') stream.on('trailers', (headers) => this.#end(headers))
    stream.on('aborted', () => (this.#cameWhole = hasEnded(stream)))
    stream.once('close', () => this.#weigh(0))
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
      this.#options.moved(chunk.length)
      if (this.#sink?.write(chunk, 0, chunk.length) === false) stream.pause()
    })
    stream.on('end', () => {
      // A stream that was reset ends too; only `aborted` tells. One that was reset behind its end is whole
      // (RFC 9113 8.1: so says a backend that answers without waiting for the rest of the request).
      if (stream.rstCode !== 0 || (stream.aborted && !this.#cameWhole)) return
      const taken = this.takeSink()
      this.#options.over()
      taken?.end(this.#trailers)
    })
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    // Until now the silence was ours.
    if (this.#sink !== null) this.#options.moved(0)
    this.#stream.resume()
  }

  cancel(): void {
    this.#sink = null
    this.#options.cancel()
  }

  /** What still comes has no reader any more. */
  drop(): void {
    if (!this.#isStarted)
      this.#stream.on('data', (chunk: Buffer) => this.#options.moved(chunk.length))
    this.#stream.resume()
  }

  /** Whoever takes it must end or cut it. */
  takeSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    return sink
  }

  #end(headers: IncomingHttpHeaders): void {
    this.#trailers = trailersFrom(headers, (name) => this.#options.refusesTrailer(name))
    if (this.#trailers === null) this.#options.spoilt()
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
    stream.on('drain', () => {
      this.#weigh(0)
      this.#body?.resume()
    })
    stream.once('close', () => this.#weigh(0))
    stream.once('wantTrailers', () => {
      stream.sendTrailers(this.#trailers === null ? {} : http2Fields(this.#trailers))
    })
    body.start(this, 'content')
  }

  /** Nobody is left to write to. */
  abort(): void {
    this.#body = null
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#body === null || this.#stream.destroyed) return true
    this.#written += to - from
    const part = bytes.subarray(from, to)
    const ok = this.#stream.write(isShared(bytes) ? copyOf(part) : part)
    if (ok) return true
    this.#weigh(this.#stream.writableLength)
    this.#owner.stalled()
    return false
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
