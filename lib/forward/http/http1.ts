// One HTTP/1 connection to a backend: carries one call at a time and goes back to its pool when both
// halves are through with it.

import assert from 'node:assert'
import {
  KEEP_ALIVE_MARGIN,
  LINGER_MS,
  MAX_INTERIM,
  READ_BUFFER_BYTES,
  STALE_MS,
} from '../../base/bounds/limits.ts'
import type { BackendLimits } from '../../base/bounds/limits.ts'
import { GatewayError } from '../../base/errors.ts'
import { EMPTY_BODY } from '../../base/reply.ts'
import type { Clock, Swept } from '../../base/sweeper.ts'
import type { Body, Outcome, Tunnel } from '../../base/types.ts'
import { isForbiddenTrailer } from '../../base/wire/field-rules.ts'
import type { ResponseHead } from '../../base/wire/head.ts'
import { parseResponseHead } from '../../base/wire/parse-head.ts'
import { Reader } from '../../base/wire/reader.ts'
import type { ReaderOwner } from '../../base/wire/reader.ts'
import type { SocketOwner, Wire } from '../../base/wire/socket.ts'
import { Writer } from '../../base/wire/writer.ts'
import type { WriterOwner } from '../../base/wire/writer.ts'
import type { Carrier, HttpCall } from './call.ts'
import { backendFault, backendTimeout, LATE } from './fault.ts'
import { modeOf, requestText } from './request-text.ts'

/** `asking`: no byte of the answer is there. `answering`: it has begun. */
type State = 'idle' | 'asking' | 'answering' | 'tunnel' | 'closed'

const MOVES: Record<State, readonly State[]> = {
  idle: ['asking', 'closed'],
  asking: ['answering', 'closed'],
  answering: ['idle', 'tunnel', 'closed'],
  tunnel: ['closed'],
  closed: [],
}

/** What a backend may say before its body; the body itself is streamed. */
const ANSWER_LIMITS = {
  maxHeadBytes: READ_BUFFER_BYTES,
  maxHeaders: 1_000,
  maxBodyBytes: Number.MAX_SAFE_INTEGER,
}

/** Where a connection belongs. */
export interface Home {
  readonly limits: BackendLimits
  readonly clock: Clock
  free(connection: Http1Backend): void
  /** The head of an answer is there. */
  answered(): void
  /** Its socket is closed, by this error if by one. */
  gone(connection: Http1Backend, error: Error | null): void
  /** Carries a call whose connection died before a byte of the answer was there. */
  again(call: HttpCall, parts: readonly (string | Buffer)[]): void
}

export class Http1Backend implements SocketOwner, ReaderOwner, WriterOwner, Carrier, Tunnel, Swept {
  readonly beforeFault = 'passed on'
  readonly #home: Home
  readonly #reader = new Reader(this, ANSWER_LIMITS)
  readonly #writer = new Writer(this)
  #wire!: Wire
  #state: State = 'idle'
  #request: 'going' | 'gone' = 'gone'
  #call: HttpCall | null = null
  #carried = 0
  /** On the home's clock. */
  #askedAt = 0
  #interim = 0
  /** How long it may idle: the origin's own word, less a margin, or ours. */
  #idleTime: number
  #keeps = true
  /** When it is too old for another call, on the home's clock. */
  readonly #oldAt: number
  /** On the home's clock, as the next one; 0 for none. */
  #deadline: number
  #writeBy = 0
  #timedOut: Outcome | null = null

  constructor(home: Home) {
    this.#home = home
    this.#idleTime = home.limits.poolIdleTimeout
    this.#deadline = home.clock.now + home.limits.connectTimeout
    this.#oldAt = home.clock.now + home.limits.poolMaxAge
  }

  attach(wire: Wire): this {
    this.#wire = wire
    this.#reader.attach(wire)
    this.#writer.attach(wire)
    return this
  }

  /** It was ended because its time was over. */
  get isLate(): boolean {
    return this.#timedOut !== null
  }

  /** Its socket is on its way out. */
  get isOver(): boolean {
    return this.#wire.socket.destroyed
  }

  send(call: HttpCall): void {
    this.#begin(call)
    const { body } = call
    const mode = modeOf(body)
    if (this.#carried > 1 && call.exchange.sending !== 'once') this.#writer.remember()
    this.#writer.send(requestText(call.exchange.request, call.host, mode), body, mode)
  }

  /** The same bytes that went out on another connection in vain. */
  sendAgain(call: HttpCall, parts: readonly (string | Buffer)[]): void {
    this.#begin(call)
    this.#writer.sendAgain(parts)
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
      this.#writer.forget()
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
    this.#keeps = false
    if (!this.#reader.ended()) this.#wire.destroy()
  }

  closed(error: Error | null): void {
    const call = this.#call
    const wasAsking = this.#state === 'asking'
    this.#call = null
    this.#move('closed')
    const parts = wasAsking && this.#isStale ? this.#writer.recall() : null
    this.#writer.abort()
    this.#reader.close()
    const isOpen = call !== null && !call.isOver
    const isReplayed = isOpen && parts !== null && parts.length > 0
    // Before this connection is counted out, so that nobody takes its place.
    if (isReplayed) this.#home.again(call, parts)
    this.#home.gone(this, error)
    this.#reader.takeSink()?.cut(this.#timedOut ?? 'backend_reset')
    if (isOpen && !isReplayed) call.failed(this.#faultOf(error))
  }

  head(bytes: Buffer, from: number, to: number): boolean {
    const call = this.#call
    assert(call !== null, 'an answer belongs to a call')
    const head = parseResponseHead(bytes, from, to, ANSWER_LIMITS)
    if (head === null) return false
    this.#home.answered()
    if (head.status === 101) return this.#upgrade(call, head)
    if (head.status < 200) return this.#inform(call, head)
    if (head.keepAliveHint >= 0)
      this.#idleTime = Math.max(0, Math.min(this.#idleTime, head.keepAliveHint - KEEP_ALIVE_MARGIN))
    this.#keeps = head.keepAlive
    // Without a body the connection is free at once, and carries the call that waited for it.
    this.#call = null
    this.#expect(call.exchange.request.method, head)
    const body = this.#reader.state === 'body' ? this.#reader : EMPTY_BODY
    call.answered({ head, body, tunnel: null })
    return true
  }

  messageOver(): void {
    this.#call = null
    const { now } = this.#home.clock
    const isClean = this.#keeps && this.#request === 'gone' && !this.#reader.hasUnread
    if (!isClean || now > this.#oldAt) return this.abort()
    this.#move('idle')
    this.#deadline = now + this.#idleTime
    this.#home.free(this)
  }

  fault(error: GatewayError): void {
    const call = this.#call
    this.#call = null
    const sink = this.#reader.takeSink()
    this.#wire.destroy()
    sink?.cut('backend_reset')
    call?.failed(error.source === 'client' ? backendFault('BACKEND_INVALID', error.message) : error)
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
    this.#writeBy = this.#home.clock.now + this.#home.limits.bodyIdleTimeout
  }

  /** After an upgrade: what the client sends. */
  join(source: Body): void {
    this.#writer.send('', source, 'content')
  }

  sweep(now: number): void {
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expire()
    if (this.#deadline === 0) return
    // While the client takes nothing, the backend's silence has not begun.
    if (this.#reader.isHeld) return this.#awaitBody()
    if (now > this.#deadline) this.#expire()
  }

  /** Found dead when it was used again, rather than while the backend was at work on the request. */
  get #isStale(): boolean {
    return this.#carried > 1 && this.#home.clock.now - this.#askedAt <= STALE_MS
  }

  #expire(): void {
    this.#deadline = 0
    this.#writeBy = 0
    this.#timedOut = 'backend_timeout'
    this.#wire.destroy()
  }

  /** The socket is connected: no deadline to the answer's head but the route's own. */
  connected(): void {
    if (this.#carried <= 1) this.#deadline = 0
  }

  #linger(): void {
    this.#deadline = this.#home.clock.now + LINGER_MS
  }

  #awaitBody(): void {
    this.#deadline = this.#home.clock.now + this.#home.limits.bodyIdleTimeout
  }

  #begin(call: HttpCall): void {
    this.#move('asking')
    this.#call = call
    call.carriedBy(this)
    this.#request = 'going'
    this.#askedAt = this.#home.clock.now
    this.#interim = 0
    if (this.#carried++ > 0) {
      this.#deadline = 0
      this.#reader.next()
    }
  }

  #expect(method: string, head: ResponseHead): void {
    const isBare = method === 'HEAD' || head.status === 204 || head.status === 304
    if (head.status === 204) unframe(head)
    if (isBare) this.#reader.expect(head.end, 'none', 0)
    else if (head.chunked) this.#reader.expect(head.end, 'chunked', 0)
    else if (head.length >= 0) this.#reader.expect(head.end, 'length', head.length)
    else this.#reader.expect(head.end, 'close', 0)
  }

  #inform(call: HttpCall, head: ResponseHead): boolean {
    if (++this.#interim > MAX_INTERIM)
      throw backendFault('BACKEND_INVALID', 'too many interim responses')
    this.#reader.expectHead(head.end)
    unframe(head)
    call.exchange.client.inform(head)
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
      return backendFault(wasConnected ? 'BACKEND_CLOSED' : 'BACKEND_CONNECT', error)
    return wasConnected ? backendTimeout() : backendFault('CONNECT_TIMEOUT', LATE)
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`http1 backend: ${this.#state} → ${to}`)
    this.#state = to
  }
}

/** RFC 9110 8.6, RFC 9112 6.1: interim answers and 204 have no body, whatever their backend claims. */
function unframe(head: ResponseHead): void {
  if (head.length >= 0) head.remove('content-length')
  if (head.chunked) head.remove('transfer-encoding')
}
