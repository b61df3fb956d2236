// An HTTP/2 stream's two directions, as a body and as a sink.

import type { Http2Stream } from 'node:http2'
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
}

/** What a stream brings. Its end counts only when the stream was not reset. */
export class StreamBody implements Body {
  readonly framing: Framing
  readonly length: number
  readonly #stream: Http2Stream
  readonly #options: StreamBodyOptions
  #sink: Sink | null = null
  #trailers: Fields | null = null

  constructor(stream: Http2Stream, options: StreamBodyOptions) {
    this.framing = options.framing
    this.length = options.length
    this.#stream = stream
    this.#options = options
    // They do not wait for somebody to read what comes before them.
    if (options.framing !== 'none')
      stream.on('trailers', (headers) => (this.#trailers = trailersFrom(headers)))
  }

  get isHeld(): boolean {
    return this.#stream.isPaused()
  }

  start(sink: Sink, _form: Form): void {
    if (this.framing === 'none') return sink.end(null)
    const stream = this.#stream
    this.#sink = sink
    stream.on('data', (chunk: Buffer) => {
      this.#options.moved(chunk.length)
      if (this.#sink?.write(chunk, 0, chunk.length) === false) stream.pause()
    })
    stream.on('end', () => {
      // A stream that was reset ends too; only `aborted` tells.
      if (stream.aborted || stream.rstCode !== 0) return
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

  /** Whoever takes it must end or cut it. */
  takeSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    return sink
  }
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

  constructor(stream: Http2Stream, owner: StreamSinkOwner) {
    this.#stream = stream
    this.#owner = owner
  }

  send(body: Body): void {
    this.#body = body
    const stream = this.#stream
    stream.on('drain', () => this.#body?.resume())
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
    const part = bytes.subarray(from, to)
    const ok = this.#stream.write(isShared(bytes) ? copyOf(part) : part)
    if (!ok) this.#owner.stalled()
    return ok
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
