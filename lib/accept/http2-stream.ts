// One HTTP/2 stream as an exchange's client. The slow shape: exact and bounded like HTTP/1, but through
// node:http2's streams.

import { constants } from 'node:http2'
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { LINGER_MS } from '../core/bounds.ts'
import type { WireLimits } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import { Exchange } from '../core/exchange.ts'
import { describeExchange } from '../core/runtime-views.ts'
import type { ExchangeView, PausedDirection } from '../core/runtime-views.ts'
import type { ExchangeClient, Outcome, ClientAddress, Reply } from '../core/types.ts'
import { isForbiddenRequestTrailer } from '../http/header-fields.ts'
import { RequestHead } from '../core/head.ts'
import type { ResponseHead } from '../core/head.ts'
import {
  Http2Body,
  Http2Sink,
  removeStreamListeners,
  ignoreStreamError,
} from '../http/http2-body.ts'
import type { Http2BodyOwner, Http2SinkOwner } from '../http/http2-body.ts'
import { createHttp2Headers, parseHttp2RequestHead, addHttp2Fields } from '../http/http2-head.ts'
import { buildHeadTooLargeError } from '../http/parse-head.ts'
import type { ConnectionListener } from './connection-listener.ts'
import { checkBodyLength } from './body-length.ts'

/** Heads of frames and the like around a request without a body. */
const FRAME_BYTES = 64

export class Http2ServerStream implements ExchangeClient, Http2BodyOwner, Http2SinkOwner {
  readonly #door: ConnectionListener
  readonly #stream: ServerHttp2Stream
  readonly #exchange: Exchange
  readonly #body: Http2Body
  readonly #sink: Http2Sink
  /** As they were before they were packed. */
  readonly headBytes: number
  #state: 'open' | 'over' = 'open'
  #received = 0
  #wasLeft = false
  #readBy = 0
  #writeBy = 0

  constructor(
    door: ConnectionListener,
    source: ClientAddress,
    stream: ServerHttp2Stream,
    raw: readonly string[],
  ) {
    this.#door = door
    this.#stream = stream
    this.headBytes = raw.reduce((sum, text) => sum + text.length + 2, FRAME_BYTES)
    const [head, fault] = readHttp2Head(raw, door.limits)
    const framing = stream.endAfterHeaders ? 'none' : head.length >= 0 ? 'length' : 'open'
    this.#body = new Http2Body(stream, framing, head.length, this)
    this.#sink = new Http2Sink(stream, this)
    stream.on('error', ignoreStreamError)
    stream.on('aborted', () => this.#aborted())
    this.#exchange = new Exchange(source, head, this.#body, this, door.handler)
    if (this.#body.framing !== 'none') this.#awaitBody()
    const refused = fault ?? checkBodyLength(head.length, door.limits)
    // The reset may have come with the head.
    if (this.#isShut) this.#aborted()
    else if (refused !== null) this.#exchange.fail(refused)
    else door.handler.serve(this.#exchange, door.portFor(source))
  }

  get bytesWritten(): number {
    return this.#sink.bytesWritten
  }

  /** Of the body, read or dropped. */
  get receivedBytes(): number {
    return this.#received
  }

  /** It was reset, by the client or for a fault of its, while an answer was being made. */
  get wasAbandoned(): boolean {
    return this.#wasLeft
  }

  /** Null when its answer is out, and only the stream is left. */
  get exchange(): Exchange | null {
    return this.#state === 'open' ? this.#exchange : null
  }

  describe(now: number): ExchangeView {
    const paused: PausedDirection[] = []
    if (this.#body.framing !== 'none' && this.#body.isWaiting && !this.#stream.readableEnded)
      paused.push('request')
    if (this.#writeBy !== 0) paused.push('answer')
    return describeExchange(this.#exchange, now, paused)
  }

  /** The gateway stops. */
  shutDown(): void {
    this.#exchange.cut('shutdown')
  }

  sweep(now: number): void {
    this.#body.updateUnreadCount()
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expireWrite()
    if (this.#readBy === 0) return
    if (this.#state === 'open' && this.#mayBeSilent) return this.#awaitBody()
    if (now <= this.#readBy) return
    if (this.#state === 'over') return this.#endUpload()
    this.#exchange.fail(new GatewayError('BODY_TIMEOUT', 'request body timeout'))
  }

  sendInterim(head: ResponseHead): void {
    if (this.#stream.headersSent || this.#isShut) return
    this.#stream.additionalHeaders(toHttp2Headers(head))
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, body } = reply
    const { status } = head
    if (this.#isShut) return exchange.abandon('client_closed')
    // HTTP/2 has no word for it.
    if (status > 599) return exchange.cut('backend_reset')
    const isEmpty = status === 204 || status === 205
    if (isEmpty) head.remove('content-length')
    const isBare =
      exchange.request.method === 'HEAD' || isEmpty || status === 304 || body.framing === 'none'
    const headers = toHttp2Headers(head)
    if (isBare) {
      if (body.framing !== 'none') body.cancel()
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
    if (!this.#stream.readableEnded) this.#body.discardRest()
  }

  sendCut(outcome: Outcome): void {
    this.#exchange.cut(outcome)
  }

  stalled(): void {
    this.#writeBy = performance.now() + this.#door.limits.responseIdleTimeout
  }

  drained(): void {
    this.#writeBy = 0
  }

  bodyCancelled(): void {}

  bodyProgressed(bytes: number): void {
    this.#awaitBody()
    this.#received += bytes
    const fault = checkBodyLength(this.#received, this.#door.limits)
    if (fault !== null) this.#exchange.fail(fault)
  }

  bodyOver(): void {
    this.#readBy = 0
  }

  refusesTrailer(name: string): boolean {
    return isForbiddenRequestTrailer(name) || this.#door.limits.guardedNames.has(name)
  }

  bodyInvalid(): void {
    this.#exchange.fail(new GatewayError('BAD_FRAMING', 'invalid request: forbidden trailer'))
  }

  /** The stream is closed, by whomever. */
  closed(): void {
    this.#gone()
    this.#sink.closed()
    this.#body.closed()
    removeStreamListeners(this.#stream)
  }

  cut(): void {
    this.#sink.abort()
    this.#reset(constants.NGHTTP2_INTERNAL_ERROR)
  }

  /** Closed streams are not always destroyed, and node throws for an answer to either. */
  get #isShut(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  /** A body that waits for the backend is not the client's delay; with the answer begun, both may talk in turns. */
  get #mayBeSilent(): boolean {
    return this.#body.isWaiting || this.#exchange.phase === 'relay'
  }

  #aborted(): void {
    this.#body.aborted()
    this.#gone()
    // What is still to be read would keep a stream that was reset.
    this.#stream.resume()
  }

  #gone(): void {
    const wasOpen = this.#state === 'open'
    this.#state = 'over'
    this.#writeBy = 0
    this.#readBy = 0
    this.#sink.abort()
    this.#body.takeSink()
    if (!wasOpen) return
    this.#wasLeft = true
    this.#exchange.abandon('client_closed')
  }

  #expireWrite(): void {
    if (this.#state === 'open') this.#exchange.cut('idle')
    // A client that does not even take the reset.
    else if (this.#isShut) this.#stream.destroy()
    else this.#reset(constants.NGHTTP2_CANCEL)
  }

  #reset(code: number): void {
    // Before the close, which node tells as `aborted` like a client's.
    this.#state = 'over'
    this.#stream.close(code)
    this.#writeBy = performance.now() + LINGER_MS
  }

  /** The answer is whole; what still comes of the request must end. Behind its last byte, or it would be lost. */
  #endUpload(): void {
    if (this.#stream.writableFinished) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #awaitBody(): void {
    if (this.#state === 'over') return
    this.#readBy = performance.now() + this.#door.limits.bodyIdleTimeout
  }
}

function toHttp2Headers(head: ResponseHead): OutgoingHttpHeaders {
  const headers = createHttp2Headers()
  headers[':status'] = head.status
  return addHttp2Fields(headers, head)
}

/** Fields that HTTP/1 has in its request line. */
export const MAX_PSEUDO_FIELDS = 4

/** The head, or one that stands for it beside what is wrong with it. */
function readHttp2Head(
  raw: readonly string[],
  limits: WireLimits,
): [RequestHead, GatewayError | null] {
  try {
    if (raw.length / 2 > limits.maxHeaders + MAX_PSEUDO_FIELDS)
      throw buildHeadTooLargeError(limits, 'http1MaxHeaders')
    return [parseHttp2RequestHead(raw), null]
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return [RequestHead.unreadable('HTTP/2'), error]
  }
}
