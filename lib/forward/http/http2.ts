// An HTTP/2 session to a backend that negotiated it, and the calls it carries.

import { connect, constants } from 'node:http2'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  ClientSessionRequestOptions,
  OutgoingHttpHeaders,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { LINGER_MS, MAX_INTERIM } from '../../base/bounds/limits.ts'
import type { BackendLimits } from '../../base/bounds/limits.ts'
import { GatewayError } from '../../base/errors.ts'
import { EMPTY_BODY } from '../../base/reply.ts'
import type { Swept } from '../../base/sweeper.ts'
import type { Body, Outcome } from '../../base/types.ts'
import { isForbiddenTrailer } from '../../base/wire/field-rules.ts'
import { StreamBody, StreamSink, forget, ignored } from '../../base/wire/http2-body.ts'
import type { StreamBodyOwner, StreamSinkOwner } from '../../base/wire/http2-body.ts'
import { LEFT_OUT, noHeaders, responseHeadFrom, withFields } from '../../base/wire/http2-head.ts'
import type { StatusHeaders } from '../../base/wire/http2-head.ts'
import { Http2Pulse } from '../../base/wire/http2-pulse.ts'
import type { Carrier, HttpCall } from './call.ts'
import { backendFault, backendTimeout } from './fault.ts'

/** Streams on one session, if the backend allows that many. */
const MAX_STREAMS = 256
/** What a backend may send ahead on one stream before the client takes it. */
const STREAM_WINDOW = 262_144

/** Node copies the options and adds these, at the cost of a new shape for each call where they are not there. */
const ADDED = { weight: undefined, parent: undefined, exclusive: undefined, silent: undefined }
const BARE = { endStream: true, waitForTrailers: false, ...ADDED } as ClientSessionRequestOptions
// A stream that waits for trailers cannot end cleanly when it is closed by a cut.
const WITH_BODY = {
  endStream: false,
  waitForTrailers: true,
  ...ADDED,
} as ClientSessionRequestOptions

export interface SessionHome {
  readonly limits: BackendLimits
  sessionGone(session: Http2Backend): void
  roomIn(session: Http2Backend): void
  /** Carries a call that a session has refused. */
  take(call: HttpCall): void
  /** The head of an answer is there. */
  answered(): void
}

export class Http2Backend implements Swept {
  readonly #home: SessionHome
  readonly #socket: TLSSocket
  readonly #session: ClientHttp2Session
  readonly #pulse: Http2Pulse
  readonly #calls = new Set<Http2Call>()
  /** Without a call: until goodbye is said, then until the backend has gone. 0 with one. */
  #idleBy = 0
  #hasCarried = false
  /** When it is too old for another call. */
  readonly #oldAt: number

  constructor(home: SessionHome, socket: TLSSocket) {
    this.#home = home
    this.#socket = socket
    this.#oldAt = performance.now() + home.limits.poolMaxAge
    this.#session = connect('https://backend', {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    })
    this.#pulse = new Http2Pulse(this.#session, socket)
    this.#session.on('error', () => {})
    // It takes no new calls from now on, but those it has are still to be swept.
    this.#session.on('goaway', () => this.close())
    this.#session.on('close', () => home.sessionGone(this))
  }

  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session
    const most = Math.min(MAX_STREAMS, remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS)
    return !closed && !destroyed && !this.#isOld && this.#calls.size < most
  }

  send(call: HttpCall): void {
    this.#idleBy = 0
    // It may be on its way out.
    if (this.#hasCarried) call.keep()
    this.#hasCarried = true
    const carried = this.#carry(call)
    if (carried === null) return this.#left()
    this.#calls.add(carried)
    carried.stream.on('close', () => {
      carried.closed()
      this.#calls.delete(carried)
      this.#home.roomIn(this)
      this.#left()
    })
  }

  /** Calls in work finish. */
  close(): void {
    this.#session.close()
    this.#left()
  }

  /** What node:http2 throws for would end the process: this may run in a socket's event. */
  #carry(call: HttpCall): Http2Call | null {
    try {
      return new Http2Call(call, this.#home, this.#session)
    } catch (error) {
      call.failed(new GatewayError('INTERNAL', 'internal error', { cause: error }))
      return null
    }
  }

  sweep(now: number): void {
    if (this.#pulse.isDead()) return void this.#socket.destroy()
    for (const call of this.#calls) call.sweep(now)
    if (this.#isOld && !this.#session.closed) return this.#left()
    if (this.#idleBy === 0 || now <= this.#idleBy) return
    if (this.#session.closed) this.#socket.destroy()
    else this.close()
  }

  get #isOld(): boolean {
    return performance.now() > this.#oldAt
  }

  #left(): void {
    if (this.#calls.size > 0) return
    // Somebody may wait for its place.
    if (this.#isOld) this.#session.close()
    const { poolIdleTimeout } = this.#home.limits
    this.#idleBy = performance.now() + (this.#session.closed ? LINGER_MS : poolIdleTimeout)
  }
}

class Http2Call implements Carrier, StreamBodyOwner, StreamSinkOwner, Swept {
  readonly stream: ClientHttp2Stream
  readonly #call: HttpCall
  readonly #home: SessionHome
  readonly #sink: StreamSink
  #body: StreamBody | null = null
  #interim = 0
  /** By when something must come; 0 for never. */
  #moveBy = 0
  /** By when something must be taken. */
  #writeBy = 0
  #outcome: Outcome = 'backend_reset'

  constructor(call: HttpCall, home: SessionHome, session: ClientHttp2Session) {
    this.#call = call
    this.#home = home
    call.carriedBy(this)
    const { body } = call
    const isBare = body.framing === 'none'
    const stream = session.request(headersOf(call), isBare ? BARE : WITH_BODY)
    this.stream = stream
    this.#sink = new StreamSink(stream, this)
    stream.on('error', ignored)
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
    this.#writeBy = performance.now() + this.#home.limits.bodyIdleTimeout
  }

  drained(): void {
    this.#writeBy = 0
  }

  sweep(now: number): void {
    if (this.stream.writableFinished) this.drained()
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expire()
    if (this.#moveBy === 0) return
    // While the client takes nothing, the backend's silence has not begun.
    if (this.#body?.isHeld === true) return this.#awaitBody()
    if (now > this.#moveBy) this.#expire()
  }

  #expire(): void {
    this.#moveBy = 0
    this.#writeBy = 0
    this.#outcome = 'backend_timeout'
    this.#call.failed(backendTimeout())
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

  #inform(headers: StatusHeaders): void {
    if (++this.#interim > MAX_INTERIM)
      throw backendFault('BACKEND_INVALID', 'too many interim responses')
    const head = responseHeadFrom(headers)
    head.remove('content-length')
    if (!this.#call.isOver) this.#call.exchange.client.inform(head)
  }

  #answer(headers: StatusHeaders, flags: number): void {
    const head = responseHeadFrom(headers)
    if (head.status < 200) throw backendFault('BACKEND_INVALID', 'an interim response as the last')
    this.#home.answered()
    const isBare = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    if (isBare && head.length < 0 && head.status !== 204 && head.status !== 304)
      head.add('content-length', '0')
    this.#call.answered({ head, body: isBare ? EMPTY_BODY : this.#open(head.length), tunnel: null })
    if (isBare) this.#over()
  }

  #open(length: number): Body {
    this.#awaitBody()
    const body = new StreamBody(this.stream, length >= 0 ? 'length' : 'open', length, this)
    this.stream.on('aborted', () => body.aborted())
    this.#body = body
    return body
  }

  bodyCancelled(): void {
    this.abort()
  }

  bodyMoved(): void {
    this.#awaitBody()
  }

  bodyOver(): void {
    this.#over()
  }

  refusesTrailer(name: string): boolean {
    return isForbiddenTrailer(name)
  }

  bodySpoilt(): void {
    this.#body?.takeSink()?.cut('backend_reset')
    this.abort()
  }

  /** The answer is whole: nobody waits for the rest of the request any more. */
  #over(): void {
    this.#moveBy = 0
    if (!this.stream.writableFinished) this.abort()
  }

  /** The stream is closed, by whomever. */
  closed(): void {
    this.#moveBy = 0
    this.#writeBy = 0
    this.#sink.closed()
    this.#body?.closed()
    forget(this.stream)
    this.#body?.takeSink()?.cut(this.#outcome)
    // Every stream closes, and an error takes longer to make than all of this.
    if (this.#call.isOver) return
    const { rstCode } = this.stream
    // RFC 9113 8.7: nothing was done with it.
    if (rstCode === constants.NGHTTP2_REFUSED_STREAM && this.#call.rewind())
      return this.#home.take(this.#call)
    this.#call.failed(
      rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM ||
        rstCode === constants.NGHTTP2_REFUSED_STREAM
        ? new GatewayError('BACKEND_CLOSED', 'upstream call failed: stream refused')
        : backendFault('BACKEND_CLOSED', 'stream closed'),
    )
  }

  #awaitBody(): void {
    this.#moveBy = performance.now() + this.#home.limits.bodyIdleTimeout
  }
}

function headersOf({ exchange, host }: HttpCall): OutgoingHttpHeaders {
  const { request } = exchange
  const headers = noHeaders()
  headers[':method'] = request.method
  headers[':path'] = request.target
  headers[':scheme'] = 'https'
  headers[':authority'] = host ?? request.authority
  withFields(headers, request, LEFT_OUT)
  if (request.get('content-type')?.startsWith('application/grpc') === true)
    headers['te'] = 'trailers'
  return headers
}
