// One HTTP/1 connection to a backend: carries one call at a time and goes back to its pool when both
// halves are through with it.

import assert from 'node:assert'
import {
  KEEP_ALIVE_MARGIN_MS,
  LINGER_MS,
  MAX_INTERIM_RESPONSES,
  READ_BUFFER_BYTES,
  STALE_CONNECTION_MS,
} from '../../core/bounds.ts'
import type { BackendLimits } from '../../core/bounds.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RequestHead, ResponseHead } from '../../core/head.ts'
import { EMPTY_BODY } from '../../core/replies.ts'
import type { CoarseClock, Sweepable } from '../../core/sweeper.ts'
import type { Body, Outcome, Tunnel } from '../../core/types.ts'
import { isForbiddenTrailer } from '../../http/header-fields.ts'
import { Http1Reader } from '../../http/message-reader.ts'
import type { Http1ReaderOwner } from '../../http/message-reader.ts'
import { Http1Writer } from '../../http/message-writer.ts'
import type { BodyWriteMode, Http1WriterOwner } from '../../http/message-writer.ts'
import { parseResponseHead } from '../../http/parse-head.ts'
import type { SocketOwner, TransportSocket } from '../../http/transport-socket.ts'
import { CONNECT_TIMED_OUT, createBackendFault, createBackendTimeout } from './backend-call.ts'
import type { CallHolder, HttpCall } from './backend-call.ts'

/** `asking`: no byte of the answer is there. `answering`: it has begun. */
type Http1BackendState = 'idle' | 'asking' | 'answering' | 'tunnel' | 'closed'

const HTTP1_BACKEND_TRANSITIONS: Record<Http1BackendState, readonly Http1BackendState[]> = {
  idle: ['asking', 'closed'],
  asking: ['answering', 'closed'],
  answering: ['idle', 'tunnel', 'closed'],
  tunnel: ['closed'],
  closed: [],
}

/** What a backend may say before its body; the body itself is streamed. */
const RESPONSE_LIMITS = {
  maxHeadBytes: READ_BUFFER_BYTES,
  maxHeaders: 1_000,
  maxBodyBytes: Number.MAX_SAFE_INTEGER,
}

/** Where a connection belongs. */
export interface Http1ConnectionOwner {
  readonly limits: BackendLimits
  readonly clock: CoarseClock
  connectionIdle(connection: Http1BackendConnection): void
  /** The head of an answer is there. */
  answered(): void
  /** Its socket is closed, by this error if by one. */
  connectionClosed(connection: Http1BackendConnection, error: Error | null): void
  /** Carries a call whose connection died before a byte of the answer was there. */
  resend(call: HttpCall, parts: readonly (string | Buffer)[]): void
}

export class Http1BackendConnection
  implements SocketOwner, Http1ReaderOwner, Http1WriterOwner, CallHolder, Tunnel, Sweepable
{
  readonly beforeFault = 'passed on'
  readonly #connectionOwner: Http1ConnectionOwner
  readonly #reader = new Http1Reader(this, RESPONSE_LIMITS)
  readonly #writer = new Http1Writer(this)
  #wire!: TransportSocket
  #state: Http1BackendState = 'idle'
  #request: 'going' | 'gone' = 'gone'
  #call: HttpCall | null = null
  #callCount = 0
  /** On the home's clock. */
  #sentAt = 0
  #interim = 0
  /** How long it may idle: the origin's own word, less a margin, or ours. */
  #idleTime: number
  #isPersistent = true
  /** When it is too old for another call, on the home's clock. */
  readonly #retireAt: number
  /** On the home's clock, as the next one; 0 for none. */
  #deadline: number
  #writeBy = 0
  #timedOut: Outcome | null = null

  constructor(home: Http1ConnectionOwner) {
    this.#connectionOwner = home
    this.#idleTime = home.limits.poolIdleTimeout
    this.#deadline = home.clock.now + home.limits.connectTimeout
    this.#retireAt = home.clock.now + home.limits.poolMaxAge
  }

  attach(wire: TransportSocket): this {
    this.#wire = wire
    this.#reader.attach(wire)
    this.#writer.attach(wire)
    return this
  }

  /** It was ended because its time was over. */
  get hasTimedOut(): boolean {
    return this.#timedOut !== null
  }

  /** Its socket is on its way out. */
  get isOver(): boolean {
    return this.#wire.socket.destroyed
  }

  send(call: HttpCall): void {
    this.#begin(call)
    const { body } = call
    const mode = requestWriteModeOf(body)
    if (this.#callCount > 1 && call.exchange.sending !== 'once') this.#writer.startRecording()
    this.#writer.send(formatHttp1RequestHead(call.exchange.request, call.host, mode), body, mode)
  }

  /** The same bytes that went out on another connection in vain. */
  sendAgain(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    this.#begin(call)
    this.#writer.resend(parts)
  }

  /** The client is gone or tired of waiting: an HTTP/1 call ends only with its connection. */
  abort(): void {
    this.#call = null
    this.#writer.abort()
    this.#wire.destroy()
  }

  data(bytes: Buffer, from: number, to: number): void {
    if (this.#state === 'asking') {
      this.#move('answering')
      this.#writer.dropRecording()
    } else if (this.#state === 'idle') return this.#wire.destroy()
    this.#reader.data(bytes, from, to)
    if (this.#reader.state === 'body') this.#awaitBody()
    // A client that said goodbye first still hears the backend out.
    else if (this.#state === 'tunnel' && this.#deadline !== 0) this.#linger()
  }

  drained(): void {
    this.#writeBy = 0
    this.#writer.drained()
  }

  ended(): void {
    this.#isPersistent = false
    if (!this.#reader.ended()) this.#wire.destroy()
  }

  closed(error: Error | null): void {
    const call = this.#call
    const wasAsking = this.#state === 'asking'
    this.#call = null
    this.#move('closed')
    const parts = wasAsking && this.#isStale ? this.#writer.takeRecording() : null
    this.#writer.abort()
    this.#reader.close()
    const isOpen = call !== null && !call.isOver
    const isReplayed = isOpen && parts !== null && parts.length > 0
    // Before this connection is counted out, so that nobody takes its place.
    if (isReplayed) this.#connectionOwner.resend(call, parts)
    this.#connectionOwner.connectionClosed(this, error)
    this.#reader.takeSink()?.cut(this.#timedOut ?? 'backend_reset')
    if (isOpen && !isReplayed) call.failed(this.#faultOf(error))
  }

  head(bytes: Buffer, from: number, to: number): boolean {
    const call = this.#call
    assert(call !== null, 'an answer belongs to a call')
    const head = parseResponseHead(bytes, from, to, RESPONSE_LIMITS)
    if (head === null) return false
    this.#connectionOwner.answered()
    if (head.status === 101) return this.#upgrade(call, head)
    if (head.status < 200) return this.#inform(call, head)
    if (head.keepAliveHint >= 0)
      this.#idleTime = Math.max(
        0,
        Math.min(this.#idleTime, head.keepAliveHint - KEEP_ALIVE_MARGIN_MS),
      )
    this.#isPersistent = head.keepAlive
    // Without a body the connection is free at once, and carries the call that waited for it.
    this.#call = null
    this.#expect(call.exchange.request.method, head)
    const body = this.#reader.state === 'body' ? this.#reader : EMPTY_BODY
    call.answered({ head, body, tunnel: null })
    return true
  }

  messageOver(): void {
    this.#call = null
    const { now } = this.#connectionOwner.clock
    const isClean = this.#isPersistent && this.#request === 'gone' && !this.#reader.hasUnread
    if (!isClean || now > this.#retireAt) return this.abort()
    this.#move('idle')
    this.#deadline = now + this.#idleTime
    this.#connectionOwner.connectionIdle(this)
  }

  fault(error: GatewayError): void {
    const call = this.#call
    this.#call = null
    const sink = this.#reader.takeSink()
    this.#wire.destroy()
    sink?.cut('backend_reset')
    call?.failed(
      error.source === 'client' ? createBackendFault('BACKEND_INVALID', error.message) : error,
    )
  }

  bodyCancelled(): void {
    this.#reader.takeSink()
    if (this.#state !== 'tunnel') return this.#wire.destroy()
    // What the client said last is still on its way.
    this.#linger()
    this.#wire.destroySoon()
  }

  refusesTrailer(name: string): boolean {
    return isForbiddenTrailer(name)
  }

  resumed(): void {
    if (this.#reader.state === 'body') this.#awaitBody()
  }

  sent(): void {
    this.#request = 'gone'
    if (this.#state === 'tunnel') {
      this.#wire.end(() => this.#linger())
    }
  }

  sendCut(): void {
    this.abort()
  }

  /** A client that leaves now is not heard, for its own socket is held: the wait must end by itself. */
  stalled(): void {
    this.#writeBy = this.#connectionOwner.clock.now + this.#connectionOwner.limits.bodyIdleTimeout
  }

  /** After an upgrade: what the client sends. */
  connectSource(source: Body): void {
    this.#writer.send('', source, 'content')
  }

  sweep(now: number): void {
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expire()
    if (this.#deadline === 0) return
    // While the client takes nothing, the backend's silence has not begun.
    if (this.#reader.isWaiting) return this.#awaitBody()
    if (now > this.#deadline) this.#expire()
  }

  /** Found dead when it was used again, rather than while the backend was at work on the request. */
  get #isStale(): boolean {
    return (
      this.#callCount > 1 && this.#connectionOwner.clock.now - this.#sentAt <= STALE_CONNECTION_MS
    )
  }

  #expire(): void {
    this.#deadline = 0
    this.#writeBy = 0
    this.#timedOut = 'backend_timeout'
    this.#wire.destroy()
  }

  /** The socket is connected: no deadline to the answer's head but the route's own. */
  connected(): void {
    if (this.#callCount <= 1) this.#deadline = 0
  }

  #linger(): void {
    this.#deadline = this.#connectionOwner.clock.now + LINGER_MS
  }

  #awaitBody(): void {
    this.#deadline = this.#connectionOwner.clock.now + this.#connectionOwner.limits.bodyIdleTimeout
  }

  #begin(call: HttpCall): void {
    this.#move('asking')
    this.#call = call
    call.setHolder(this)
    this.#request = 'going'
    this.#sentAt = this.#connectionOwner.clock.now
    this.#interim = 0
    if (this.#callCount++ > 0) {
      this.#deadline = 0
      this.#reader.readNext()
    }
  }

  #expect(method: string, head: ResponseHead): void {
    const isBare = method === 'HEAD' || head.status === 204 || head.status === 304
    if (head.status === 204) removeFramingHeaders(head)
    if (isBare) this.#reader.expectBody(head.end, 'none', 0)
    else if (head.chunked) this.#reader.expectBody(head.end, 'chunked', 0)
    else if (head.length >= 0) this.#reader.expectBody(head.end, 'length', head.length)
    else this.#reader.expectBody(head.end, 'close', 0)
  }

  #inform(call: HttpCall, head: ResponseHead): boolean {
    if (++this.#interim > MAX_INTERIM_RESPONSES)
      throw createBackendFault('BACKEND_INVALID', 'too many interim responses')
    this.#reader.expectHead(head.end)
    removeFramingHeaders(head)
    call.exchange.client.sendInterim(head)
    return true
  }

  #upgrade(call: HttpCall, head: ResponseHead): boolean {
    if (head.upgrade === '' || call.exchange.request.upgrade === '')
      throw new GatewayError('UPGRADE_FAILED', 'upstream call failed: unexpected upgrade')
    this.#reader.expectHead(head.end)
    this.#move('tunnel')
    this.#call = null
    this.#deadline = 0
    this.#reader.becomeTunnel()
    call.answered({ head, body: this.#reader, tunnel: this })
    return true
  }

  #faultOf(error: Error | null): GatewayError {
    const { wasConnected } = this.#wire
    if (this.#timedOut === null)
      return createBackendFault(wasConnected ? 'BACKEND_CLOSED' : 'BACKEND_CONNECT', error)
    return wasConnected
      ? createBackendTimeout()
      : createBackendFault('CONNECT_TIMEOUT', CONNECT_TIMED_OUT)
  }

  #move(to: Http1BackendState): void {
    if (!HTTP1_BACKEND_TRANSITIONS[this.#state].includes(to))
      throw new Error(`http1 backend: ${this.#state} → ${to}`)
    this.#state = to
  }
}

/** RFC 9110 8.6, RFC 9112 6.1: interim answers and 204 have no body, whatever their backend claims. */
function removeFramingHeaders(head: ResponseHead): void {
  if (head.length >= 0) head.remove('content-length')
  if (head.chunked) head.remove('transfer-encoding')
}

// The request head as it goes to an HTTP/1 backend: the received text, minus what belongs to the client's
// hop, plus what belongs to ours.

/** How the body goes out behind the head; chunked bodies pass as they stand. */
function requestWriteModeOf(body: Body): BodyWriteMode {
  switch (body.framing) {
    case 'none':
      return 'none'
    case 'length':
      return 'content'
    case 'chunked':
      return 'wire'
    case 'open':
      return 'encode'
  }
}

function formatHttp1RequestHead(
  head: RequestHead,
  host: string | null,
  mode: BodyWriteMode,
): string {
  let line = head.method + ' ' + head.target + ' HTTP/1.1\r\n'
  if (host !== null) {
    head.remove('host')
    line += 'host: ' + host + '\r\n'
  }
  // A client that speaks 1.0 may have sent none, and a try before this one may have used another.
  else if (!head.has('host')) line += 'host: ' + head.authority + '\r\n'
  if (mode === 'encode') {
    head.remove('content-length')
    head.set('transfer-encoding', 'chunked')
  }
  const end =
    head.upgrade === '' ? '\r\n' : 'connection: upgrade\r\nupgrade: ' + head.upgrade + '\r\n\r\n'
  return line + head.fieldsText() + end
}
