// One HTTP/2 stream as the client of an exchange, with the same bounds as HTTP/1. It uses the streams of node:http2,
// which are slower than the HTTP/1 path.

import { constants } from 'node:http2'
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { LINGER_MS } from '../core/bounds.ts'
import type { PortLimits } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import { Exchange } from '../core/exchange.ts'
import { describeExchange } from '../core/runtime-views.ts'
import type { ExchangeView, PausedDirection } from '../core/runtime-views.ts'
import type { ExchangeClient, Outcome, ClientAddress, Reply } from '../core/types.ts'
import { isRefusedTrailer, removeAmbiguousNames } from '../http/header-fields.ts'
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
import { normalizeTarget } from '../http/normalize-path.ts'
import { buildHeadTooLargeError } from '../http/parse-head.ts'
import type { ConnectionListener } from './connection-listener.ts'
import { checkBodyLength } from './body-length.ts'

/** Frame headers and other overhead of a request without a body. */
const FRAME_BYTES = 64

export class Http2ServerStream implements ExchangeClient, Http2BodyOwner, Http2SinkOwner {
  readonly #listener: ConnectionListener
  readonly #stream: ServerHttp2Stream
  readonly #exchange: Exchange
  readonly #body: Http2Body
  readonly #sink: Http2Sink
  /** The size of the head before HPACK compression. */
  readonly headBytes: number
  #state: 'open' | 'over' = 'open'
  #received = 0
  #wasAbandoned = false
  #readDeadline = 0
  #writeDeadline = 0

  constructor(
    listener: ConnectionListener,
    source: ClientAddress,
    stream: ServerHttp2Stream,
    raw: readonly string[],
  ) {
    this.#listener = listener
    this.#stream = stream
    this.headBytes = raw.reduce((sum, text) => sum + text.length + 2, FRAME_BYTES)
    const [head, fault] = readHttp2Head(raw, listener.limits)
    const framing = stream.endAfterHeaders ? 'none' : head.length >= 0 ? 'length' : 'open'
    this.#body = new Http2Body(stream, framing, head.length, this)
    this.#sink = new Http2Sink(stream, this)
    stream.on('error', ignoreStreamError)
    stream.on('aborted', () => this.#aborted())
    this.#exchange = new Exchange(source, head, this.#body, this, listener.handler)
    if (this.#body.framing !== 'none') this.#restartBodyTimeout()
    const error = fault ?? checkBodyLength(head.length, listener.limits)
    // A reset may have arrived together with the head.
    if (this.#isClosed) this.#aborted()
    else if (error !== null) this.#exchange.fail(error)
    else listener.handler.serve(this.#exchange, listener.portFor(source))
  }

  get bytesWritten(): number {
    return this.#sink.bytesWritten
  }

  /** Body bytes that were received, read or dropped. */
  get receivedBytes(): number {
    return this.#received
  }

  /** Whether the stream was reset, by the client or for an error of the client, before the response was complete. */
  get wasAbandoned(): boolean {
    return this.#wasAbandoned
  }

  /** Null after the response was sent, while the stream is still open. */
  get exchange(): Exchange | null {
    return this.#state === 'open' ? this.#exchange : null
  }

  describe(now: number): ExchangeView {
    const paused: PausedDirection[] = []
    if (this.#body.framing !== 'none' && this.#body.isWaiting && !this.#stream.readableEnded)
      paused.push('request')
    if (this.#writeDeadline !== 0) paused.push('answer')
    return describeExchange(this.#exchange, now, paused)
  }

  shutDown(): void {
    this.#exchange.cut('shutdown')
  }

  sweep(now: number): void {
    this.#body.updateUnreadCount()
    if (this.#writeDeadline !== 0 && now > this.#writeDeadline) return this.#expireWrite()
    if (this.#readDeadline === 0) return
    if (this.#state === 'open' && this.#mayPauseBody) return this.#restartBodyTimeout()
    if (now <= this.#readDeadline) return
    if (this.#state === 'over') return this.#endUpload()
    this.#exchange.fail(new GatewayError('BODY_TIMEOUT', 'request body timeout'))
  }

  sendInterim(head: ResponseHead): void {
    if (this.#stream.headersSent || this.#isClosed) return
    this.#stream.additionalHeaders(toHttp2Headers(head))
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, body } = reply
    const { status } = head
    if (this.#isClosed) return exchange.abandon('client_closed')
    // node:http2 cannot send a status above 599.
    if (status > 599) return exchange.cut('backend_reset')
    const isEmpty = status === 204 || status === 205
    if (isEmpty) head.remove('content-length')
    const hasNoBody =
      exchange.request.method === 'HEAD' || isEmpty || status === 304 || body.framing === 'none'
    const headers = toHttp2Headers(head)
    if (hasNoBody) {
      if (body.framing !== 'none') body.cancel()
      this.#stream.respond(headers, { endStream: true })
      return this.sent()
    }
    // Set even without trailers: a stream that waits for them cannot end cleanly when a cut closes it.
    this.#stream.respond(headers, { waitForTrailers: true })
    this.#sink.send(body)
  }

  sent(): void {
    this.#state = 'over'
    this.#exchange.settle('complete')
    const now = performance.now()
    this.#writeDeadline = now + this.#listener.limits.responseIdleTimeout
    this.#readDeadline = this.#body.framing === 'none' ? 0 : now + LINGER_MS
    // The rest of the request body has no reader any more.
    if (!this.#stream.readableEnded) this.#body.discardRest()
  }

  sendCut(outcome: Outcome): void {
    this.#exchange.cut(outcome)
  }

  stalled(): void {
    this.#writeDeadline = performance.now() + this.#listener.limits.responseIdleTimeout
  }

  drained(): void {
    this.#writeDeadline = 0
  }

  bodyCancelled(): void {}

  bodyProgressed(bytes: number): void {
    this.#restartBodyTimeout()
    this.#received += bytes
    const fault = checkBodyLength(this.#received, this.#listener.limits)
    if (fault !== null) this.#exchange.fail(fault)
  }

  bodyOver(): void {
    this.#readDeadline = 0
  }

  refusesTrailer(name: string): boolean {
    return isRefusedTrailer(name, this.#listener.limits)
  }

  bodyInvalid(): void {
    this.#exchange.fail(new GatewayError('BAD_FRAMING', 'invalid request: forbidden trailer'))
  }

  /** The stream was closed, by the client or by the gateway. */
  closed(): void {
    this.#abandon()
    this.#sink.closed()
    this.#body.closed()
    removeStreamListeners(this.#stream)
  }

  cut(): void {
    this.#sink.abort()
    this.#reset(constants.NGHTTP2_INTERNAL_ERROR)
  }

  /** A closed stream is not always destroyed; node throws on a response to either. */
  get #isClosed(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  /** The client may pause its body while the backend does not read it, and after the response has started. */
  get #mayPauseBody(): boolean {
    return this.#body.isWaiting || this.#exchange.phase === 'relay'
  }

  #aborted(): void {
    this.#body.aborted()
    this.#abandon()
    // Unread bytes would keep the reset stream open.
    this.#stream.resume()
  }

  #abandon(): void {
    const wasOpen = this.#state === 'open'
    this.#state = 'over'
    this.#writeDeadline = 0
    this.#readDeadline = 0
    this.#sink.abort()
    this.#body.takeSink()
    if (!wasOpen) return
    this.#wasAbandoned = true
    this.#exchange.abandon('client_closed')
  }

  #expireWrite(): void {
    if (this.#state === 'open') this.#exchange.cut('idle')
    // The client does not read even the reset.
    else if (this.#isClosed) this.#stream.destroy()
    else this.#reset(constants.NGHTTP2_CANCEL)
  }

  #reset(code: number): void {
    // Set before `close`, after which node emits `aborted` as for a reset by the client.
    this.#state = 'over'
    this.#stream.close(code)
    this.#writeDeadline = performance.now() + LINGER_MS
  }

  /** Stops the upload of a request that is answered. Only after the last response byte, which a reset would discard. */
  #endUpload(): void {
    if (this.#stream.writableFinished) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #restartBodyTimeout(): void {
    if (this.#state === 'over') return
    this.#readDeadline = performance.now() + this.#listener.limits.bodyIdleTimeout
  }
}

function toHttp2Headers(head: ResponseHead): OutgoingHttpHeaders {
  const headers = createHttp2Headers()
  headers[':status'] = head.status
  return addHttp2Fields(headers, head)
}

/** Pseudo header fields of a request: method, scheme, authority and path. */
export const MAX_PSEUDO_FIELDS = 4

/** Returns the head and null, or a placeholder and the error in the head. */
function readHttp2Head(
  raw: readonly string[],
  limits: PortLimits,
): [RequestHead, GatewayError | null] {
  try {
    if (raw.length / 2 > limits.maxHeaders + MAX_PSEUDO_FIELDS)
      throw buildHeadTooLargeError(limits, 'http1MaxHeaders')
    const head = parseHttp2RequestHead(raw)
    removeAmbiguousNames(head, limits)
    return [head, normalizeTarget(head, limits.normalizePath)]
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return [RequestHead.unreadable('HTTP/2'), error]
  }
}
