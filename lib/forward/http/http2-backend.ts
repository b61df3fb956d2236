// An HTTP/2 session to a backend that negotiated it, and the calls it carries.

import { connect, constants } from 'node:http2'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  ClientSessionRequestOptions,
  OutgoingHttpHeaders,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { LINGER_MS, MAX_INTERIM_RESPONSES } from '../../core/bounds.ts'
import type { BackendLimits } from '../../core/bounds.ts'
import { GatewayError } from '../../core/errors.ts'
import { EMPTY_BODY } from '../../core/replies.ts'
import type { Sweepable } from '../../core/sweeper.ts'
import type { Body, Outcome } from '../../core/types.ts'
import { isForbiddenTrailer } from '../../http/header-fields.ts'
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

/** Streams on one session, if the backend allows that many. */
const MAX_STREAMS = 256
/** What a backend may send ahead on one stream before the client takes it. */
const STREAM_WINDOW = 262_144

/** Node copies the options and adds these, at the cost of a new shape for each call where they are not there. */
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
  sessionClosed(session: Http2BackendSession): void
  sessionHasRoom(session: Http2BackendSession): void
  /** Carries a call that a session has refused. */
  submit(call: HttpCall): void
  /** The head of an answer is there. */
  answered(): void
}

export class Http2BackendSession implements Sweepable {
  readonly #sessionOwner: Http2SessionOwner
  readonly #socket: TLSSocket
  readonly #session: ClientHttp2Session
  readonly #pulse: Http2Liveness
  readonly #calls = new Set<Http2BackendStream>()
  /** Without a call: until goodbye is said, then until the backend has gone. 0 with one. */
  #idleBy = 0
  #wasUsed = false
  /** When it is too old for another call. */
  readonly #retireAt: number

  constructor(home: Http2SessionOwner, socket: TLSSocket) {
    this.#sessionOwner = home
    this.#socket = socket
    this.#retireAt = performance.now() + home.limits.poolMaxAge
    this.#session = connect('https://backend', {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    })
    this.#pulse = new Http2Liveness(this.#session, socket)
    this.#session.on('error', () => {})
    // It takes no new calls from now on, but those it has are still to be swept.
    this.#session.on('goaway', () => this.close())
    this.#session.on('close', () => home.sessionClosed(this))
  }

  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session
    const most = Math.min(MAX_STREAMS, remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS)
    return !closed && !destroyed && !this.#isOld && this.#calls.size < most
  }

  send(call: HttpCall): void {
    this.#idleBy = 0
    // It may be on its way out.
    if (this.#wasUsed) call.keepForResend()
    this.#wasUsed = true
    const carried = this.#openStream(call)
    if (carried === null) return this.#callEnded()
    this.#calls.add(carried)
    carried.stream.on('close', () => {
      carried.closed()
      this.#calls.delete(carried)
      this.#sessionOwner.sessionHasRoom(this)
      this.#callEnded()
    })
  }

  /** Calls in work finish. */
  close(): void {
    this.#session.close()
    this.#callEnded()
  }

  /** What node:http2 throws for would end the process: this may run in a socket's event. */
  #openStream(call: HttpCall): Http2BackendStream | null {
    try {
      return new Http2BackendStream(call, this.#sessionOwner, this.#session)
    } catch (error) {
      call.failed(new GatewayError('INTERNAL', 'internal error', { cause: error }))
      return null
    }
  }

  sweep(now: number): void {
    if (this.#pulse.isDead()) return void this.#socket.destroy()
    for (const call of this.#calls) call.sweep(now)
    if (this.#isOld && !this.#session.closed) return this.#callEnded()
    if (this.#idleBy === 0 || now <= this.#idleBy) return
    if (this.#session.closed) this.#socket.destroy()
    else this.close()
  }

  get #isOld(): boolean {
    return performance.now() > this.#retireAt
  }

  #callEnded(): void {
    if (this.#calls.size > 0) return
    // Somebody may wait for its place.
    if (this.#isOld) this.#session.close()
    const { poolIdleTimeout } = this.#sessionOwner.limits
    this.#idleBy = performance.now() + (this.#session.closed ? LINGER_MS : poolIdleTimeout)
  }
}

class Http2BackendStream implements CallHolder, Http2BodyOwner, Http2SinkOwner, Sweepable {
  readonly stream: ClientHttp2Stream
  readonly #call: HttpCall
  readonly #sessionOwner: Http2SessionOwner
  readonly #sink: Http2Sink
  #body: Http2Body | null = null
  #interim = 0
  /** By when something must come; 0 for never. */
  #readBy = 0
  /** By when something must be taken. */
  #writeBy = 0
  #outcome: Outcome = 'backend_reset'

  constructor(call: HttpCall, home: Http2SessionOwner, session: ClientHttp2Session) {
    this.#call = call
    this.#sessionOwner = home
    call.setHolder(this)
    const { body } = call
    const isBare = body.framing === 'none'
    const stream = session.request(
      http2RequestHeadersOf(call),
      isBare ? BODILESS_OPTIONS : BODY_OPTIONS,
    )
    this.stream = stream
    this.#sink = new Http2Sink(stream, this)
    stream.on('error', ignoreStreamError)
    // Node tells of a 100 twice; the second time as of any other.
    stream.on('headers', (headers) => this.#read(() => this.#inform(headers)))
    stream.on('response', (headers, flags) => this.#read(() => this.#answer(headers, flags)))
    if (!isBare) this.#sink.send(body)
  }

  abort(): void {
    this.#sink.abort()
    // Not while node reads from the session: it would put CANCEL off, and say END_STREAM instead.
    setImmediate(() => this.stream.close(constants.NGHTTP2_CANCEL))
  }

  sent(): void {
    if (!this.stream.writableFinished) this.stalled()
  }

  sendCut(): void {
    this.abort()
  }

  /** A client that leaves now is not always heard: the wait must end by itself. */
  stalled(): void {
    this.#writeBy = performance.now() + this.#sessionOwner.limits.bodyIdleTimeout
  }

  drained(): void {
    this.#writeBy = 0
  }

  sweep(now: number): void {
    if (this.stream.writableFinished) this.drained()
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expire()
    if (this.#readBy === 0) return
    // While the client takes nothing, the backend's silence has not begun.
    if (this.#body?.isWaiting === true) return this.#awaitBody()
    if (now > this.#readBy) this.#expire()
  }

  #expire(): void {
    this.#readBy = 0
    this.#writeBy = 0
    this.#outcome = 'backend_timeout'
    this.#call.failed(createBackendTimeout())
    this.abort()
  }

  /** What the backend got wrong is told to the client, not thrown into the session. */
  #read(step: () => void): void {
    try {
      step()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#call.failed(error)
      this.abort()
    }
  }

  #inform(headers: Http2ResponseHeaders): void {
    if (++this.#interim > MAX_INTERIM_RESPONSES)
      throw createBackendFault('BACKEND_INVALID', 'too many interim responses')
    const head = parseHttp2ResponseHead(headers)
    head.remove('content-length')
    if (!this.#call.isOver) this.#call.exchange.client.sendInterim(head)
  }

  #answer(headers: Http2ResponseHeaders, flags: number): void {
    const head = parseHttp2ResponseHead(headers)
    if (head.status < 200)
      throw createBackendFault('BACKEND_INVALID', 'an interim response as the last')
    this.#sessionOwner.answered()
    const isBare = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    if (isBare && head.length < 0 && head.status !== 204 && head.status !== 304)
      head.add('content-length', '0')
    this.#call.answered({ head, body: isBare ? EMPTY_BODY : this.#open(head.length), tunnel: null })
    if (isBare) this.#responseComplete()
  }

  #open(length: number): Body {
    this.#awaitBody()
    const body = new Http2Body(this.stream, length >= 0 ? 'length' : 'open', length, this)
    this.stream.on('aborted', () => body.aborted())
    this.#body = body
    return body
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

  /** The answer is whole: nobody waits for the rest of the request any more. */
  #responseComplete(): void {
    this.#readBy = 0
    if (!this.stream.writableFinished) this.abort()
  }

  /** The stream is closed, by whomever. */
  closed(): void {
    this.#readBy = 0
    this.#writeBy = 0
    this.#sink.closed()
    this.#body?.closed()
    removeStreamListeners(this.stream)
    this.#body?.takeSink()?.cut(this.#outcome)
    // Every stream closes, and an error takes longer to make than all of this.
    if (this.#call.isOver) return
    const { rstCode } = this.stream
    // RFC 9113 8.7: nothing was done with it.
    if (rstCode === constants.NGHTTP2_REFUSED_STREAM && this.#call.rewind())
      return this.#sessionOwner.submit(this.#call)
    this.#call.failed(
      rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM ||
        rstCode === constants.NGHTTP2_REFUSED_STREAM
        ? new GatewayError('BACKEND_CLOSED', 'upstream call failed: stream refused')
        : createBackendFault('BACKEND_CLOSED', 'stream closed'),
    )
  }

  #awaitBody(): void {
    this.#readBy = performance.now() + this.#sessionOwner.limits.bodyIdleTimeout
  }
}

function http2RequestHeadersOf({ exchange, host }: HttpCall): OutgoingHttpHeaders {
  const { request } = exchange
  const headers = createHttp2Headers()
  headers[':method'] = request.method
  headers[':path'] = request.target
  headers[':scheme'] = 'https'
  headers[':authority'] = host ?? request.authority
  addHttp2Fields(headers, request, BACKEND_OMITTED_FIELDS)
  if (request.get('content-type')?.startsWith('application/grpc') === true)
    headers['te'] = 'trailers'
  return headers
}
