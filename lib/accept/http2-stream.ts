// One HTTP/2 stream as an exchange's client and body. The slow shape: exact and bounded like HTTP/1, but
// through node:http2's streams.

import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { GatewayError } from '../base/errors.ts'
import { Exchange } from '../base/exchange.ts'
import { RequestHead } from '../base/wire/head.ts'
import type { Fields, ResponseHead } from '../base/wire/head.ts'
import { http2Fields, requestHeadFrom, trailersFrom } from '../base/wire/http2-head.ts'
import { copyOf } from '../base/wire/socket.ts'
import { isShared } from '../base/wire/memory.ts'
import type { Body, Client, Form, Framing, Outcome, Peer, Reply, Sink } from '../base/types.ts'
import type { Door } from './door.ts'

export class Http2Stream implements Client, Body, Sink {
  readonly framing: Framing
  readonly length: number
  readonly #door: Door
  readonly #stream: ServerHttp2Stream
  readonly #exchange: Exchange
  #state: 'open' | 'over' = 'open'
  #reply: Reply | null = null
  #trailers: Fields | null = null
  #readBy = 0
  #writeBy = 0

  constructor(door: Door, source: Peer, stream: ServerHttp2Stream, raw: readonly string[]) {
    this.#door = door
    this.#stream = stream
    let head: RequestHead
    let fault: GatewayError | null = null
    try {
      head = requestHeadFrom(raw)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      fault = error
      head = new RequestHead('', [], 0)
      head.version = 'HTTP/2'
    }
    this.framing = stream.endAfterHeaders ? 'none' : head.length >= 0 ? 'length' : 'open'
    this.length = this.framing === 'length' ? head.length : -1
    stream.on('error', () => {})
    stream.on('close', () => this.#closed())
    stream.on('drain', () => {
      this.#writeBy = 0
      this.#reply?.body.resume()
    })
    this.#exchange = new Exchange(source, head, this, this, door.steps)
    if (fault === null) door.serve(this.#exchange)
    else this.#exchange.fail(fault)
  }

  /** The gateway stops, or time is up. */
  shutDown(outcome: Outcome): void {
    this.#exchange.cut(outcome)
  }

  sweep(now: number): void {
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#exchange.cut('idle')
    if (this.#readBy === 0 || now <= this.#readBy) return
    this.#readBy = 0
    if (this.#stream.isPaused()) this.#awaitBody()
    else this.#exchange.fail(new GatewayError('BODY_TIMEOUT', 'request body timeout'))
  }

  // --- the request's body

  start(sink: Sink, _form: Form): void {
    if (this.framing === 'none') return sink.end(null)
    const stream = this.#stream
    let trailers: Fields | null = null
    stream.on('trailers', (headers) => (trailers = trailersFrom(headers)))
    stream.on('data', (chunk: Buffer) => {
      this.#awaitBody()
      if (!sink.write(chunk, 0, chunk.length)) stream.pause()
    })
    stream.on('end', () => {
      this.#readBy = 0
      // A stream that was reset ends too; only its close tells.
      if (!stream.aborted) sink.end(trailers)
    })
    this.#awaitBody()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  cancel(): void {}

  // --- the answer

  inform(head: ResponseHead): void {
    if (this.#stream.headersSent || this.#stream.destroyed) return
    this.#stream.additionalHeaders({ ':status': head.status, ...http2Fields(head) })
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, body } = reply
    const { status } = head
    const isBare =
      exchange.request.method === 'HEAD' || status === 204 || status === 304 || body.framing === 'none'
    const stream = this.#stream
    if (stream.destroyed) return exchange.abandon('client_closed')
    const headers = { ':status': status, ...http2Fields(head) }
    if (isBare) {
      stream.respond(headers, { endStream: true })
      return this.#finish()
    }
    this.#reply = reply
    const mayTrail = body.framing !== 'length'
    stream.respond(headers, { waitForTrailers: mayTrail })
    if (mayTrail)
      stream.once('wantTrailers', () => stream.sendTrailers(this.#trailers ? http2Fields(this.#trailers) : {}))
    body.start(this, 'content')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#stream.destroyed) return true
    const part = bytes.subarray(from, to)
    const ok = this.#stream.write(isShared(bytes) ? copyOf(part) : part)
    if (!ok) this.#writeBy = performance.now() + this.#door.limits.responseIdleTimeout
    return ok
  }

  end(trailers: Fields | null): void {
    this.#trailers = trailers
    this.#stream.end()
    this.#finish()
  }

  cut(outcome?: Outcome): void {
    if (outcome !== undefined) return this.#exchange.cut(outcome)
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  #finish(): void {
    this.#reply = null
    this.#readBy = 0
    this.#state = 'over'
    this.#exchange.settle('complete')
    // What the client still sends of its request has no reader any more.
    if (!this.#stream.readableEnded) this.#stream.resume()
  }

  #closed(): void {
    this.#writeBy = 0
    this.#readBy = 0
    if (this.#state === 'open') this.#exchange.abandon('client_closed')
    this.#state = 'over'
  }

  #awaitBody(): void {
    this.#readBy = performance.now() + this.#door.limits.bodyIdleTimeout
  }
}
