// One HTTP/2 stream as an exchange's client. The slow shape: exact and bounded like HTTP/1, but through
// node:http2's streams.

import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { GatewayError } from '../base/errors.ts'
import { Exchange } from '../base/exchange.ts'
import { LINGER_MS } from '../base/limits.ts'
import { RequestHead } from '../base/wire/head.ts'
import type { ResponseHead } from '../base/wire/head.ts'
import { StreamBody, StreamSink } from '../base/wire/http2-body.ts'
import type { StreamSinkOwner } from '../base/wire/http2-body.ts'
import { http2Fields, requestHeadFrom } from '../base/wire/http2-head.ts'
import type { Client, Outcome, Peer, Reply } from '../base/types.ts'
import type { Door } from './door.ts'
import { lengthFault } from './length.ts'

export class Http2Stream implements Client, StreamSinkOwner {
  readonly #door: Door
  readonly #stream: ServerHttp2Stream
  readonly #exchange: Exchange
  readonly #body: StreamBody
  readonly #sink: StreamSink
  #state: 'open' | 'over' = 'open'
  #received = 0
  #readBy = 0
  #writeBy = 0

  constructor(door: Door, source: Peer, stream: ServerHttp2Stream, raw: readonly string[]) {
    this.#door = door
    this.#stream = stream
    const [head, fault] = readHead(raw)
    this.#body = new StreamBody(stream, {
      framing: stream.endAfterHeaders ? 'none' : head.length >= 0 ? 'length' : 'open',
      length: head.length,
      cancel: () => {},
      moved: (bytes) => this.#moved(bytes),
      over: () => (this.#readBy = 0),
    })
    this.#sink = new StreamSink(stream, this)
    stream.on('error', () => {})
    stream.on('close', () => this.#closed())
    stream.on('drain', () => (this.#writeBy = 0))
    this.#exchange = new Exchange(source, head, this.#body, this, door.steps)
    if (this.#body.framing !== 'none') this.#awaitBody()
    const refused = fault ?? lengthFault(head.length, door.limits)
    if (refused === null) door.serve(this.#exchange)
    else this.#exchange.fail(refused)
  }

  /** The gateway stops. */
  shutDown(): void {
    this.#exchange.cut('shutdown')
  }

  sweep(now: number): void {
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expireWrite()
    if (this.#readBy === 0) return
    // A body that waits for the backend is not the client's delay.
    if (this.#state === 'open' && this.#body.isHeld) return this.#awaitBody()
    if (now <= this.#readBy) return
    if (this.#state === 'over') return this.#stream.close(constants.NGHTTP2_NO_ERROR)
    this.#exchange.fail(new GatewayError('BODY_TIMEOUT', 'request body timeout'))
  }

  inform(head: ResponseHead): void {
    if (this.#stream.headersSent || this.#stream.destroyed) return
    this.#stream.additionalHeaders({ ':status': head.status, ...http2Fields(head) })
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, body } = reply
    const { status } = head
    if (this.#stream.destroyed) return exchange.abandon('client_closed')
    const isBare =
      exchange.request.method === 'HEAD' ||
      status === 204 ||
      status === 304 ||
      body.framing === 'none'
    const headers = { ':status': status, ...http2Fields(head) }
    if (isBare) {
      this.#stream.respond(headers, { endStream: true })
      return this.sent()
    }
    // Trailers or not: a stream that waits for them cannot end cleanly when it is closed by a cut.
    this.#stream.respond(headers, { waitForTrailers: true })
    this.#sink.send(body)
  }

  sent(): void {
    this.#state = 'over'
    this.#exchange.settle('complete')
    const now = performance.now()
    this.#writeBy = now + this.#door.limits.responseIdleTimeout
    this.#readBy = this.#body.framing === 'none' ? 0 : now + LINGER_MS
    // What the client still sends of its request has no reader any more.
    if (!this.#stream.readableEnded) this.#stream.resume()
  }

  sendCut(outcome: Outcome): void {
    this.#exchange.cut(outcome)
  }

  stalled(): void {
    this.#writeBy = performance.now() + this.#door.limits.responseIdleTimeout
  }

  cut(): void {
    this.#sink.abort()
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  #closed(): void {
    this.#writeBy = 0
    this.#readBy = 0
    this.#sink.abort()
    this.#body.takeSink()
    if (this.#state === 'open') this.#exchange.abandon('client_closed')
    this.#state = 'over'
  }

  #expireWrite(): void {
    if (this.#state === 'over') this.#stream.close(constants.NGHTTP2_CANCEL)
    else this.#exchange.cut('idle')
  }

  #moved(bytes: number): void {
    this.#awaitBody()
    this.#received += bytes
    const fault = lengthFault(this.#received, this.#door.limits)
    if (fault !== null) this.#exchange.fail(fault)
  }

  #awaitBody(): void {
    if (this.#state === 'over') return
    this.#readBy = performance.now() + this.#door.limits.bodyIdleTimeout
  }
}

/** The head, or one that stands for it beside what is wrong with it. */
function readHead(raw: readonly string[]): [RequestHead, GatewayError | null] {
  try {
    return [requestHeadFrom(raw), null]
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const head = new RequestHead('', [], 0)
    head.method = '-'
    head.target = '-'
    head.version = 'HTTP/2'
    return [head, error]
  }
}
