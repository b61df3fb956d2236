// One HTTP/1 connection to a backend: it has one call at a time and returns to its pool when request and response are complete.

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
import { probeInput } from '../../core/socket-handle.ts'
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

/** `waiting`: no byte of the response has arrived. `receiving`: the first byte has. */
type Http1BackendState = 'idle' | 'waiting' | 'receiving' | 'tunnel' | 'closed'

const HTTP1_BACKEND_TRANSITIONS: Record<Http1BackendState, readonly Http1BackendState[]> = {
  idle: ['waiting', 'closed'],
  waiting: ['receiving', 'closed'],
  receiving: ['idle', 'tunnel', 'closed'],
  tunnel: ['closed'],
  closed: [],
}

/** Bounds of a response head; the body is streamed and has no bound. */
const RESPONSE_LIMITS = {
  maxHeadBytes: READ_BUFFER_BYTES,
  maxHeaders: 1_000,
  maxBodyBytes: Number.MAX_SAFE_INTEGER,
}

/** The pool of a connection. */
export interface Http1ConnectionOwner {
  readonly limits: BackendLimits
  readonly clock: CoarseClock
  connectionIdle(connection: Http1BackendConnection): void
  /** A response head has arrived. */
  answered(): void
  /** The socket is closed; `error` is null if it closed without one. */
  connectionClosed(connection: Http1BackendConnection, error: Error | null): void
  /** Sends a call on a new connection after its connection closed before the first byte of the response. */
  resend(call: HttpCall, parts: readonly (string | Buffer)[]): void
}

export class Http1BackendConnection
  implements SocketOwner, Http1ReaderOwner, Http1WriterOwner, CallHolder, Tunnel, Sweepable
{
  readonly beforeFault = 'passed on'
  readonly #owner: Http1ConnectionOwner
  readonly #reader = new Http1Reader(this, RESPONSE_LIMITS)
  readonly #writer = new Http1Writer(this)
  #wire!: TransportSocket
  #state: Http1BackendState = 'idle'
  #requestState: 'sending' | 'sent' = 'sent'
  #call: HttpCall | null = null
  #callCount = 0
  /** On the clock of the owner, as all times below. */
  #sentAt = 0
  #interimCount = 0
  /** The idle timeout: `poolIdleTimeout`, or what the backend's `keep-alive` field says, less a margin. */
  #idleTime: number
  #idleSince = 0
  #isPersistent = true
  /** After this time the connection takes no more calls. */
  readonly #retireAt: number
  /** For the next bytes of the backend, or the end of idling; 0 for none. */
  #deadline: number
  /** For the backend to read what was written; 0 for none. */
  #writeDeadline = 0
  #timedOut: Outcome | null = null

  constructor(owner: Http1ConnectionOwner) {
    this.#owner = owner
    this.#idleTime = owner.limits.poolIdleTimeout
    this.#deadline = owner.clock.now + owner.limits.connectTimeout
    this.#retireAt = owner.clock.now + owner.limits.poolMaxAge
  }

  attach(wire: TransportSocket): this {
    this.#wire = wire
    this.#reader.attach(wire)
    this.#writer.attach(wire)
    return this
  }

  /** The time to the response head starts now if the request was written before. */
  connected(): void {
    if (this.#callCount > 1) return
    this.#deadline = 0
    if (this.#requestState === 'sent') this.#awaitHead()
  }

  get hasTimedOut(): boolean {
    return this.#timedOut !== null
  }

  /** The socket is destroyed, though `closed` may not have been called yet. */
  get isOver(): boolean {
    return this.#wire.socket.destroyed
  }

  /**
   * Whether the backend has ended this idle connection, for a call that could not be sent again. This costs a system call,
   * so connections that were used in this tick of the clock are not asked.
   */
  hasEndedFor(call: HttpCall): boolean {
    if (this.#idleSince === this.#owner.clock.now) return false
    if (call.body.framing === 'none' && call.isIdempotent) return false
    return probeInput(this.#wire.socket) !== 'nothing'
  }

  send(call: HttpCall): void {
    this.#begin(call)
    const { body } = call
    const mode = requestWriteModeOf(body)
    if (this.#callCount > 1 && call.isIdempotent) this.#writer.startRecording()
    this.#writer.send(formatHttp1RequestHead(call.exchange.request, call.host, mode), body, mode)
  }

  /** Sends the bytes that were recorded on a stale connection. */
  sendAgain(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    this.#begin(call)
    this.#writer.resend(parts)
  }

  /** An HTTP/1 call can be aborted only by closing its connection. */
  abort(): void {
    this.#call = null
    this.#writer.abort()
    this.#wire.destroy()
  }

  data(bytes: Buffer, from: number, to: number): void {
    if (this.#state === 'waiting') {
      this.#move('receiving')
      this.#writer.dropRecording()
    } else if (this.#state === 'idle') return this.#wire.destroy()
    this.#reader.data(bytes, from, to)
    if (this.#reader.state === 'body') this.#awaitBody()
    // After the client has closed its half of a tunnel, the backend may still send.
    else if (this.#state === 'tunnel' && this.#deadline !== 0) this.#linger()
  }

  drained(): void {
    this.#writeDeadline = 0
    this.#writer.drained()
  }

  ended(): void {
    this.#isPersistent = false
    if (!this.#reader.ended()) this.#wire.destroy()
  }

  closed(error: Error | null): void {
    const call = this.#call
    const wasWaiting = this.#state === 'waiting'
    this.#call = null
    this.#move('closed')
    const isStale = wasWaiting && this.#timedOut === null && this.#isStale
    const parts = isStale ? this.#writer.takeRecording() : null
    this.#writer.abort()
    this.#reader.close()
    const isOpen = call !== null && !call.isOver
    const isReplayed = isOpen && parts !== null && parts.length > 0
    // Before `connectionClosed`, which gives the free place in the pool to a call that waits.
    if (isReplayed) this.#owner.resend(call, parts)
    this.#owner.connectionClosed(this, error)
    this.#reader.takeSink()?.cut(this.#timedOut ?? 'backend_reset')
    if (isOpen && !isReplayed) call.failed(this.#faultOf(error))
  }

  head(bytes: Buffer, from: number, to: number): boolean {
    const call = this.#call
    assert(call !== null, 'a response belongs to a call')
    const head = parseResponseHead(bytes, from, to, RESPONSE_LIMITS)
    if (head === null) return false
    this.#owner.answered()
    if (head.status === 101) return this.#upgrade(call, head)
    if (head.status < 200) return this.#relayInterim(call, head)
    if (head.keepAliveHint >= 0)
      this.#idleTime = Math.max(
        0,
        Math.min(this.#idleTime, head.keepAliveHint - KEEP_ALIVE_MARGIN_MS),
      )
    this.#isPersistent = head.keepAlive
    // A response without a body frees the connection at once: `expectBody` may start the next call.
    this.#call = null
    this.#expectBody(call.exchange.request.method, head)
    const body = this.#reader.state === 'body' ? this.#reader : EMPTY_BODY
    call.answered({ head, body, tunnel: null })
    return true
  }

  messageOver(): void {
    this.#call = null
    const { now } = this.#owner.clock
    const isReusable =
      this.#isPersistent && this.#requestState === 'sent' && !this.#reader.hasUnread
    if (!isReusable || now > this.#retireAt) return this.abort()
    this.#move('idle')
    this.#idleSince = now
    this.#deadline = now + this.#idleTime
    this.#owner.connectionIdle(this)
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
    // The last bytes of the client may not have been sent yet.
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
    this.#requestState = 'sent'
    // Before that the deadline is the one to connect.
    if (this.#state === 'waiting' && this.#wire.wasConnected) this.#awaitHead()
    if (this.#state === 'tunnel') this.#wire.end(() => this.#linger())
  }

  sendCut(): void {
    this.abort()
  }

  /** The client's socket is paused now, so that its close is not noticed: this wait needs its own deadline. */
  stalled(): void {
    this.#writeDeadline = this.#owner.clock.now + this.#owner.limits.bodyIdleTimeout
  }

  /** After an upgrade: sends the bytes of the client to the backend. */
  connectSource(source: Body): void {
    this.#writer.send('', source, 'content')
  }

  sweep(now: number): void {
    if (this.#writeDeadline !== 0 && now > this.#writeDeadline) return this.#expire()
    if (this.#deadline === 0) return
    // While the client reads nothing, the idle time of the backend does not count.
    if (this.#reader.isWaiting) return this.#awaitBody()
    if (now > this.#deadline) this.#expire()
  }

  /** A reused connection that closed right after the request was sent: the backend most likely did not read it. */
  get #isStale(): boolean {
    return this.#callCount > 1 && this.#owner.clock.now - this.#sentAt <= STALE_CONNECTION_MS
  }

  #expire(): void {
    this.#deadline = 0
    this.#writeDeadline = 0
    this.#timedOut = 'backend_timeout'
    this.#wire.destroy()
  }

  #linger(): void {
    this.#deadline = this.#owner.clock.now + LINGER_MS
  }

  #awaitHead(): void {
    const headTimeout = this.#call?.headTimeout ?? 0
    if (headTimeout > 0) this.#deadline = this.#owner.clock.now + headTimeout
  }

  #awaitBody(): void {
    this.#deadline = this.#owner.clock.now + this.#owner.limits.bodyIdleTimeout
  }

  #begin(call: HttpCall): void {
    this.#move('waiting')
    this.#call = call
    call.setHolder(this)
    this.#requestState = 'sending'
    this.#sentAt = this.#owner.clock.now
    this.#interimCount = 0
    if (this.#callCount++ > 0) {
      this.#deadline = 0
      this.#reader.readNext()
    }
  }

  #expectBody(method: string, head: ResponseHead): void {
    const hasNoBody = method === 'HEAD' || head.status === 204 || head.status === 304
    if (head.status === 204) removeFramingHeaders(head)
    if (hasNoBody) this.#reader.expectBody(head.end, 'none', 0)
    else if (head.chunked) this.#reader.expectBody(head.end, 'chunked', 0)
    else if (head.length >= 0) this.#reader.expectBody(head.end, 'length', head.length)
    else this.#reader.expectBody(head.end, 'close', 0)
  }

  #relayInterim(call: HttpCall, head: ResponseHead): boolean {
    if (++this.#interimCount > MAX_INTERIM_RESPONSES)
      throw createBackendFault('BACKEND_INVALID', 'too many interim responses')
    this.#reader.expectHead(head.end)
    removeFramingHeaders(head)
    call.exchange.client.sendInterim(head)
    if (this.#requestState === 'sent') this.#awaitHead()
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

/** RFC 9110 8.6, RFC 9112 6.1: interim responses and 204 have no body, so framing fields of the backend are wrong. */
function removeFramingHeaders(head: ResponseHead): void {
  if (head.length >= 0) head.remove('content-length')
  if (head.chunked) head.remove('transfer-encoding')
}

/** Chunked bodies are forwarded with the client's own chunks. */
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

/** The received fields without those of the client's connection, with those of the backend's connection. */
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
  // An HTTP/1.0 client may have sent no Host, and an attempt before this one may have removed it.
  else if (!head.has('host')) line += 'host: ' + head.receivedAuthority + '\r\n'
  if (mode === 'encode') {
    head.remove('content-length')
    head.set('transfer-encoding', 'chunked')
  }
  const end =
    head.upgrade === '' ? '\r\n' : 'connection: upgrade\r\nupgrade: ' + head.upgrade + '\r\n\r\n'
  return line + head.fieldsText() + end
}
