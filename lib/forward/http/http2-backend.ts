// An HTTP/2 session to a backend, over TLS or not, and its streams: one for each call.

import { connect, constants } from 'node:http2'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  ClientSessionRequestOptions,
  OutgoingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import { LINGER_MS, MAX_INTERIM_RESPONSES } from '../../core/bounds.ts'
import type { BackendLimits } from '../../core/bounds.ts'
import { GatewayError } from '../../core/errors.ts'
import { EMPTY_BODY } from '../../core/replies.ts'
import type { Sweepable } from '../../core/sweeper.ts'
import type { Body, Outcome } from '../../core/types.ts'
import { isForbiddenTrailer, isGrpcType } from '../../http/header-fields.ts'
import {
  Http2Body,
  Http2Sink,
  removeStreamListeners,
  ignoreStreamError,
} from '../../http/http2-body.ts'
import type { Http2BodyOwner, Http2SinkOwner } from '../../http/http2-body.ts'
import {
  BACKEND_OMITTED_FIELDS,
  createHttp2Headers,
  parseHttp2ResponseHead,
  addHttp2Fields,
} from '../../http/http2-head.ts'
import type { Http2ResponseHeaders } from '../../http/http2-head.ts'
import { Http2Liveness } from '../../http/http2-liveness.ts'
import type { CallHolder, HttpCall } from './backend-call.ts'
import { createBackendFault, createBackendTimeout } from './backend-call.ts'

/** On one session; the backend may allow fewer. */
const MAX_STREAMS = 256
/** Bytes that a backend may send on one stream before the client has read them. */
const STREAM_WINDOW = 262_144

/** Node copies the options and adds these members; where they are missing, each call costs a new hidden class. */
const NODE_DEFAULT_OPTIONS = {
  weight: undefined,
  parent: undefined,
  exclusive: undefined,
  silent: undefined,
}
const BODILESS_OPTIONS = {
  endStream: true,
  waitForTrailers: false,
  ...NODE_DEFAULT_OPTIONS,
} as ClientSessionRequestOptions
// A stream that waits for trailers cannot end cleanly when it is closed by a cut.
const BODY_OPTIONS = {
  endStream: false,
  waitForTrailers: true,
  ...NODE_DEFAULT_OPTIONS,
} as ClientSessionRequestOptions

export interface Http2SessionOwner {
  readonly limits: BackendLimits
  readonly scheme: 'http' | 'https'
  sessionClosed(session: Http2BackendSession): void
  sessionHasRoom(session: Http2BackendSession): void
  /** Sends a call that the backend refused on this session. */
  submit(call: HttpCall): void
  /** A response head has arrived. */
  answered(): void
}

export class Http2BackendSession implements Sweepable {
  readonly #owner: Http2SessionOwner
  readonly #socket: Socket
  readonly #session: ClientHttp2Session
  readonly #liveness: Http2Liveness
  readonly #streams = new Set<Http2BackendStream>()
  /** Without streams: when to close the session and, after GOAWAY, when to destroy the socket. Otherwise 0. */
  #idleDeadline = 0
  #wasUsed = false
  /** The backend has processed no stream with a higher id (RFC 9113 6.8). */
  #lastStream = Number.MAX_SAFE_INTEGER
  /** After this time the session takes no more calls. */
  readonly #retireAt: number

  constructor(owner: Http2SessionOwner, socket: Socket) {
    this.#owner = owner
    this.#socket = socket
    this.#retireAt = performance.now() + owner.limits.poolMaxAge
    this.#session = connect(`${owner.scheme}://backend`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    })
    this.#liveness = new Http2Liveness(this.#session, socket)
    this.#session.on('error', () => {})
    // After GOAWAY the session takes no new calls; its streams finish and are still swept.
    this.#session.on('goaway', (_code, lastStream) => {
      this.#lastStream = lastStream
      this.close()
    })
    this.#session.on('close', () => owner.sessionClosed(this))
  }

  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session
    const maxStreams = Math.min(MAX_STREAMS, remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS)
    return !closed && !destroyed && !this.#isOld && this.#streams.size < maxStreams
  }

  send(call: HttpCall): void {
    this.#idleDeadline = 0
    // The backend may be closing a used session and refuse the stream.
    if (this.#wasUsed) call.keepForResend()
    this.#wasUsed = true
    const opened = this.#openStream(call)
    if (opened === null) return this.#startIdling()
    this.#streams.add(opened)
    opened.stream.on('close', () => {
      opened.closed(this.#lastStream)
      this.#streams.delete(opened)
      this.#owner.sessionHasRoom(this)
      this.#startIdling()
    })
  }

  /** Sends GOAWAY; the open streams finish. */
  close(): void {
    this.#session.close()
    this.#startIdling()
  }

  sweep(now: number): void {
    if (this.#liveness.isDead()) return void this.#socket.destroy()
    for (const stream of this.#streams) stream.sweep(now)
    if (this.#isOld && !this.#session.closed) return this.#startIdling()
    if (this.#idleDeadline === 0 || now <= this.#idleDeadline) return
    if (this.#session.closed) this.#socket.destroy()
    else this.close()
  }

  /** node:http2 may throw; this may run in a socket's event, where the error would end the process. */
  #openStream(call: HttpCall): Http2BackendStream | null {
    try {
      return new Http2BackendStream(call, this.#owner, this.#session)
    } catch (error) {
      call.failed(new GatewayError('INTERNAL', 'internal error', { cause: error }))
      return null
    }
  }

  get #isOld(): boolean {
    return performance.now() > this.#retireAt
  }

  /** Sets the idle deadline, unless streams are open. */
  #startIdling(): void {
    if (this.#streams.size > 0) return
    // Closing an old session frees its place in the pool for a new connection.
    if (this.#isOld) this.#session.close()
    const { poolIdleTimeout } = this.#owner.limits
    this.#idleDeadline = performance.now() + (this.#session.closed ? LINGER_MS : poolIdleTimeout)
  }
}

class Http2BackendStream implements CallHolder, Http2BodyOwner, Http2SinkOwner, Sweepable {
  readonly stream: ClientHttp2Stream
  readonly #call: HttpCall
  readonly #owner: Http2SessionOwner
  readonly #sink: Http2Sink
  #body: Http2Body | null = null
  #interimCount = 0
  /** For the next bytes of the backend; 0 for none. */
  #readDeadline = 0
  /** For the backend to read what was written; 0 for none. */
  #writeDeadline = 0
  #outcome: Outcome = 'backend_reset'

  constructor(call: HttpCall, owner: Http2SessionOwner, session: ClientHttp2Session) {
    this.#call = call
    this.#owner = owner
    call.setHolder(this)
    const { body } = call
    const hasNoBody = body.framing === 'none'
    const stream = session.request(
      http2RequestHeadersOf(call, owner.scheme),
      hasNoBody ? BODILESS_OPTIONS : BODY_OPTIONS,
    )
    this.stream = stream
    this.#sink = new Http2Sink(stream, this)
    stream.on('error', ignoreStreamError)
    // For a 100 node emits 'continue' and 'headers'; only 'headers' is used.
    stream.on('headers', (headers) => this.#handle(() => this.#relayInterim(headers)))
    stream.on('response', (headers, flags) => this.#handle(() => this.#answer(headers, flags)))
    if (hasNoBody) this.#awaitHead()
    else this.#sink.send(body)
  }

  abort(): void {
    this.#sink.abort()
    // While node reads from the session, it would delay CANCEL and send END_STREAM instead.
    setImmediate(() => this.stream.close(constants.NGHTTP2_CANCEL))
  }

  sent(): void {
    if (!this.stream.writableFinished) this.stalled()
    if (this.#body === null) this.#awaitHead()
  }

  sendCut(): void {
    this.abort()
  }

  /** The close of the client is not always noticed now: this wait needs its own deadline. */
  stalled(): void {
    this.#writeDeadline = performance.now() + this.#owner.limits.bodyIdleTimeout
  }

  drained(): void {
    this.#writeDeadline = 0
  }

  sweep(now: number): void {
    if (this.stream.writableFinished) this.drained()
    if (this.#writeDeadline !== 0 && now > this.#writeDeadline) return this.#expire()
    if (this.#readDeadline === 0) return
    // While the client reads nothing, the idle time of the backend does not count.
    if (this.#body?.isWaiting === true) return this.#awaitBody()
    if (now > this.#readDeadline) this.#expire()
  }

  bodyCancelled(): void {
    this.abort()
  }

  bodyProgressed(): void {
    this.#awaitBody()
  }

  bodyOver(): void {
    this.#responseComplete()
  }

  refusesTrailer(name: string): boolean {
    return isForbiddenTrailer(name)
  }

  bodyInvalid(): void {
    this.#body?.takeSink()?.cut('backend_reset')
    this.abort()
  }

  /** The stream is closed, by either side; the backend has processed no stream above `lastStream`. */
  closed(lastStream: number): void {
    this.#readDeadline = 0
    this.#writeDeadline = 0
    this.#sink.closed()
    this.#body?.closed()
    removeStreamListeners(this.stream)
    this.#body?.takeSink()?.cut(this.#outcome)
    // Every stream closes, and to create an error costs more than all of the above.
    if (this.#call.isOver) return
    const { rstCode } = this.stream
    // RFC 9113 8.7: the backend has not processed a refused stream, so any method may be sent again.
    const isUnprocessed =
      rstCode === constants.NGHTTP2_REFUSED_STREAM || (this.stream.id ?? 0) > lastStream
    if (isUnprocessed && this.#call.rewind()) return this.#owner.submit(this.#call)
    this.#call.failed(
      rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM ||
        rstCode === constants.NGHTTP2_REFUSED_STREAM
        ? new GatewayError('BACKEND_CLOSED', 'upstream call failed: stream refused')
        : createBackendFault('BACKEND_CLOSED', 'stream closed'),
    )
  }

  #expire(): void {
    this.#readDeadline = 0
    this.#writeDeadline = 0
    this.#outcome = 'backend_timeout'
    this.#call.failed(createBackendTimeout())
    this.abort()
  }

  /** Fails the call for an invalid response, instead of throwing into the session. */
  #handle(event: () => void): void {
    try {
      event()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#call.failed(error)
      this.abort()
    }
  }

  #relayInterim(headers: Http2ResponseHeaders): void {
    if (++this.#interimCount > MAX_INTERIM_RESPONSES)
      throw createBackendFault('BACKEND_INVALID', 'too many interim responses')
    const head = parseHttp2ResponseHead(headers)
    head.remove('content-length')
    if (!this.#call.isOver) this.#call.exchange.client.sendInterim(head)
    if (this.#readDeadline !== 0) this.#awaitHead()
  }

  #answer(headers: Http2ResponseHeaders, flags: number): void {
    const head = parseHttp2ResponseHead(headers)
    if (head.status < 200)
      throw createBackendFault('BACKEND_INVALID', 'the final response has an interim status')
    this.#owner.answered()
    const hasNoBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    if (hasNoBody && head.length < 0 && head.status !== 204 && head.status !== 304)
      head.add('content-length', '0')
    const body = hasNoBody ? EMPTY_BODY : this.#openBody(head.length)
    this.#call.answered({ head, body, tunnel: null })
    if (hasNoBody) this.#responseComplete()
  }

  #openBody(length: number): Body {
    this.#awaitBody()
    const body = new Http2Body(this.stream, length >= 0 ? 'length' : 'open', length, this)
    this.stream.on('aborted', () => body.aborted())
    this.#body = body
    return body
  }

  /** After a complete response the rest of the request is not needed. */
  #responseComplete(): void {
    this.#readDeadline = 0
    if (!this.stream.writableFinished) this.abort()
  }

  #awaitHead(): void {
    const { headTimeout, isOver } = this.#call
    if (headTimeout > 0 && !isOver) this.#readDeadline = performance.now() + headTimeout
  }

  #awaitBody(): void {
    this.#readDeadline = performance.now() + this.#owner.limits.bodyIdleTimeout
  }
}

function http2RequestHeadersOf(
  { exchange, host }: HttpCall,
  scheme: Http2SessionOwner['scheme'],
): OutgoingHttpHeaders {
  const { request } = exchange
  const headers = createHttp2Headers()
  headers[':method'] = request.method
  headers[':path'] = request.target
  headers[':scheme'] = scheme
  headers[':authority'] = host ?? request.receivedAuthority
  addHttp2Fields(headers, request, BACKEND_OMITTED_FIELDS)
  if (isGrpcType(request.get('content-type'))) headers['te'] = 'trailers'
  return headers
}
