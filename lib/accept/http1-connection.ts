// One client's HTTP/1 connection: requests in, one at a time, answers out in the same order. The two
// halves move on their own; this file joins them, keeps the deadlines and ends the connection.

import { LINGER_MS } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import { Exchange } from '../core/exchange.ts'
import { RequestHead } from '../core/head.ts'
import type { HttpVersion, ResponseHead } from '../core/head.ts'
import { describeExchange, limitList } from '../core/runtime-views.ts'
import type { ConnectionView, PausedDirection } from '../core/runtime-views.ts'
import type {
  Body,
  ClientAddress,
  DrainMode,
  ExchangeClient,
  Outcome,
  Reply,
  Tunnel,
} from '../core/types.ts'
import { isForbiddenRequestTrailer } from '../http/header-fields.ts'
import { Http1Reader } from '../http/message-reader.ts'
import type { Http1ReaderOwner } from '../http/message-reader.ts'
import { Http1Writer } from '../http/message-writer.ts'
import type { BodyWriteMode, Http1WriterOwner } from '../http/message-writer.ts'
import { parseRequestHead } from '../http/parse-head.ts'
import { copyBuffer } from '../http/transport-socket.ts'
import type { SocketOwner, TransportSocket } from '../http/transport-socket.ts'
import { checkBodyLength } from './body-length.ts'
import type { ClientConnection, ConnectionListener } from './connection-listener.ts'

/**
 * `head`: part of a head is there. `answering`: a request is in work. `closing`: the last answer is out, and what
 * still comes is dropped.
 */
type Http1ConnectionState = 'idle' | 'head' | 'answering' | 'tunnel' | 'closing' | 'closed'

const MOVES: Record<Http1ConnectionState, readonly Http1ConnectionState[]> = {
  idle: ['head', 'answering', 'closing', 'closed'],
  head: ['answering', 'closing', 'closed'],
  answering: ['idle', 'tunnel', 'closing', 'closed'],
  tunnel: ['closing', 'closed'],
  closing: ['closed'],
  closed: [],
}

export class Http1Connection
  implements SocketOwner, Http1ReaderOwner, Http1WriterOwner, ExchangeClient, ClientConnection
{
  readonly #door: ConnectionListener
  readonly #reader: Http1Reader
  readonly #writer = new Http1Writer(this)
  readonly #id: number
  readonly #source: ClientAddress
  readonly #moves: number
  readonly #since = performance.now()
  #wire!: TransportSocket
  #state: Http1ConnectionState = 'idle'
  #exchange: Exchange | null = null
  /** Of the request in work, as it is spoken here. */
  #version: HttpVersion = 'HTTP/1.1'
  /** Whether another request may follow the one in work. */
  #persists = true
  #served = 0
  readonly #turns = new FairQueue()
  /** Of the configuration that the request in work began with. */
  #guardedNames: ReadonlySet<string>
  /** On the clock of `performance.now()`; 0 for none. */
  #readBy: number
  #writeBy = 0

  constructor(door: ConnectionListener, source: ClientAddress, moves = 0) {
    this.#door = door
    this.#moves = moves
    this.#source = source
    this.#id = door.nextConnectionId()
    this.#reader = new Http1Reader(this, door.limits)
    this.#guardedNames = door.limits.guardedNames
    this.#readBy = door.connections.now + door.limits.headTimeout
  }

  attach(wire: TransportSocket): this {
    this.#wire = wire
    this.#reader.attach(wire)
    this.#writer.attach(wire)
    this.#door.connections.add(this)
    return this
  }

  get bytesWritten(): number {
    return this.#writer.bytesWritten
  }

  get bytesIn(): number {
    return this.#wire.socket.bytesRead
  }

  get bytesOut(): number {
    return this.#wire.socket.bytesWritten
  }

  get exchanges(): Exchange[] {
    return this.#exchange === null ? [] : [this.#exchange]
  }

  describe(now: number): ConnectionView {
    const paused: PausedDirection[] = []
    if (this.#reader.isWaiting) paused.push('request')
    if (this.#writeBy !== 0) paused.push('answer')
    return {
      id: this.#id,
      peer: this.#source.label,
      protocol: 'http/1.1',
      age: Math.round(now - this.#since),
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      exchanges: limitList(this.exchanges, (exchange) => describeExchange(exchange, now, paused)),
    }
  }

  /** No more requests: at once when idle, otherwise behind the answer in work. One that lingers is answered once more. */
  drain(manner: DrainMode): void {
    this.#persists = false
    if (this.#state !== 'idle' && this.#state !== 'head') return
    if (manner === 'linger') {
      if (this.#state === 'idle') this.#readBy = this.#door.connections.now + LINGER_MS
      return
    }
    // The last answer may still be on its way.
    if (this.#wire.socket.writableLength > 0) this.#close()
    else this.#wire.destroy()
  }

  /** The time is up. */
  shutDown(): void {
    this.#exchange?.cut('shutdown')
    this.#wire.destroy()
  }

  data(bytes: Buffer, from: number, to: number): void {
    this.#reader.data(bytes, from, to)
    if (this.#reader.state === 'body') this.#awaitBody()
  }

  drained(): void {
    this.#writeBy = 0
    if (this.#isBetween) this.#reader.readNext()
    else this.#writer.drained()
  }

  ended(): void {
    if (this.#reader.ended()) return
    // A client that shuts its side has left: nobody could tell it from one that is gone.
    this.#exchange?.abandon('client_closed')
    this.#wire.destroy()
  }

  closed(): void {
    this.#door.connections.delete(this)
    this.#door.recordClosed(this.#source, this.bytesIn, this.bytesOut)
    this.#writer.abort()
    this.#reader.close()
    const exchange = this.#exchange
    this.#exchange = null
    const hasSaidGoodbye = this.#state === 'tunnel' && !this.#reader.isStarted
    exchange?.abandon(hasSaidGoodbye ? 'complete' : 'client_closed')
    this.#move('closed')
  }

  head(bytes: Buffer, from: number, to: number): boolean {
    if (this.#served === 0 && startsLikeHttp2(bytes, from, to))
      return this.#handOver(bytes, from, to)
    const head = parseRequestHead(bytes, from, to, this.#door.limits)
    if (head === null) {
      // The clock starts with the head's first byte and is not set back by more of them.
      if (this.#state === 'idle') {
        this.#move('head')
        this.#readBy = this.#door.connections.now + this.#door.limits.headTimeout
      }
      return false
    }
    if (this.#door.peers !== null && this.#goes(head, bytes.subarray(from, to), to)) return true
    this.#served++
    this.#readBy = 0
    const framing = head.chunked ? 'chunked' : head.length > 0 ? 'length' : 'none'
    this.#reader.expectBody(head.end, framing, head.length)
    this.#begin(head)
    if (this.#reader.state === 'body') this.#awaitBody()
    const fault = checkBodyLength(head.length, this.#door.limits)
    const exchange = this.#exchange!
    if (fault !== null) this.fault(fault)
    else this.#door.handler.serve(exchange, this.#door.portFor(exchange.source))
    return true
  }

  messageOver(): void {
    this.#readBy = 0
  }

  fault(error: GatewayError): void {
    this.#persists = false
    if (this.#exchange === null) this.#begin(RequestHead.unreadable('HTTP/1.1'))
    this.#exchange?.fail(error)
  }

  bodyCancelled(): void {}

  resumed(): void {
    if (this.#reader.state === 'body') this.#awaitBody()
  }

  refusesTrailer(name: string): boolean {
    return isForbiddenRequestTrailer(name) || this.#guardedNames.has(name)
  }

  sendInterim(head: ResponseHead): void {
    if (this.#version !== 'HTTP/1.1' || this.#state !== 'answering') return
    this.#wire.write(`HTTP/1.1 ${head.status} ${head.reason}\r\n${head.fieldsText()}\r\n`)
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, tunnel } = reply
    const { method, keepAlive } = exchange.request
    if (tunnel !== null) return this.#upgrade(head, reply.body, tunnel)
    // A request body that nobody reads must end here, or the next head could not be found.
    const isRead = this.#reader.isStarted || this.#reader.skipBody()
    if (!keepAlive || !isRead || this.#door.isDraining) this.#persists = false
    const mode = selectResponseMode(reply, method, this.#version)
    if (applyResponseFraming(reply, mode, this.#version) === 'by its end') this.#persists = false
    const text = formatResponseHead(head, this.#version, this.#persists ? 'keep' : 'close')
    const form = this.#version === 'HTTP/1.0' && mode !== 'none' ? 'content' : mode
    this.#writer.send(text, reply.body, form)
  }

  sent(): void {
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.settle('complete')
    if (!this.#persists || this.#reader.state !== 'over' || this.#door.isDraining)
      return this.#close()
    this.#move('idle')
    this.#readBy = this.#door.connections.now + this.#door.limits.keepAliveTimeout
    // Answers that nobody takes must not pile up: the next request waits until these are out.
    if (this.#wire.isFull) this.stalled()
    else if (this.#reader.hasUnread)
      this.#turns.run(() => this.#isBetween && this.#reader.readNext())
    else this.#reader.readNext()
  }

  sendCut(outcome: Outcome, unsent: string): void {
    // The head goes out even so: an empty reply would invite clients to send the request again.
    if (unsent !== '') this.#wire.write(unsent)
    this.#exchange?.cut(outcome)
  }

  stalled(): void {
    this.#writeBy = this.#door.connections.now + this.#door.limits.responseIdleTimeout
  }

  cut(): void {
    this.#wire.destroy()
  }

  sweep(now: number): void {
    if (this.#writeBy !== 0 && now > this.#writeBy) return this.#expireWrite()
    if (this.#readBy === 0) return
    if (this.#reader.state === 'body' && this.#mayBeSilent) return this.#awaitBody()
    if (now <= this.#readBy) return
    this.#readBy = 0
    if (this.#state === 'closing') return this.#wire.destroy()
    if (this.#state === 'idle') return this.#close()
    if (this.#state === 'head')
      return this.fault(new GatewayError('HEAD_TIMEOUT', 'request head timeout'))
    if (this.#reader.state === 'body')
      this.fault(new GatewayError('BODY_TIMEOUT', 'request body timeout'))
  }

  /** One request is answered, and the next not looked for yet. */
  get #isBetween(): boolean {
    return this.#state === 'idle' && this.#reader.state === 'over'
  }

  /** A body that waits for the backend is not the client's delay; with the answer begun, both may talk in turns. */
  get #mayBeSilent(): boolean {
    return this.#reader.isWaiting || this.#exchange?.phase === 'relay'
  }

  #expireWrite(): void {
    this.#writeBy = 0
    if (this.#exchange === null) this.#wire.destroy()
    else this.#exchange.cut('idle')
  }

  #awaitBody(): void {
    this.#readBy = this.#door.connections.now + this.#door.limits.bodyIdleTimeout
  }

  #begin(head: RequestHead): void {
    this.#move('answering')
    this.#guardedNames = this.#door.limits.guardedNames
    this.#writer.startMessage()
    this.#version = head.version
    const source = this.#door.relayedSourceOf?.(head) ?? this.#source
    this.#exchange = new Exchange(source, head, this.#reader, this, this.#door.handler)
  }

  #handOver(bytes: Buffer, from: number, to: number): boolean {
    if (to - from < HTTP2_PREFACE.length) return false
    this.#reader.expectHead(to)
    this.#door.connections.delete(this)
    this.#move('closed')
    this.#door.adoptHttp2(
      this.#wire.detachForHttp2(copyBuffer(bytes.subarray(from, to))),
      this.#source,
    )
    return true
  }

  /** To the worker that has the session it asks for, and goes on there; not while an answer is on its way out. */
  #goes(head: RequestHead, unread: Buffer, end: number): boolean {
    const neighbours = this.#door.peers!
    const worker = neighbours.findOwner(head)
    if (worker === null || this.#wire.socket.writableLength > 0) return false
    if (!neighbours.canHandOver(this.#moves, unread.length)) return false
    this.#reader.expectHead(end)
    this.#door.connections.delete(this)
    this.#door.recordClosed(this.#source, this.bytesIn, this.bytesOut)
    this.#move('closed')
    const handle = this.#wire.detachHandle()
    if (handle !== null)
      neighbours.handOver(worker, {
        handle,
        unread: copyBuffer(unread),
        handoverCount: this.#moves + 1,
      })
    return true
  }

  #upgrade(head: ResponseHead, body: Body, tunnel: Tunnel): void {
    this.#move('tunnel')
    this.#persists = false
    this.#readBy = 0
    this.#writer.send(formatUpgradeHead(head), body, 'content')
    this.#reader.becomeTunnel()
    tunnel.connectSource(this.#reader)
  }

  /** Says goodbye, and reads on for a moment so that the client sees our last words and not a reset. */
  #close(): void {
    this.#move('closing')
    this.#readBy = 0
    this.#writeBy = this.#door.connections.now + this.#door.limits.responseIdleTimeout
    this.#reader.discard()
    this.#wire.end(() => {
      this.#writeBy = 0
      this.#readBy = this.#door.connections.now + LINGER_MS
    })
  }

  #move(to: Http1ConnectionState): void {
    if (!MOVES[this.#state].includes(to))
      throw new Error(`http1 connection: ${this.#state} → ${to}`)
    this.#state = to
  }
}

// The head of an answer as an HTTP/1 client gets it, and how the body goes out behind it.

function formatResponseHead(
  head: ResponseHead,
  version: HttpVersion,
  connection: 'keep' | 'close',
): string {
  const start = `HTTP/1.1 ${head.status} ${head.reason}\r\n`
  if (connection === 'close') return start + head.fieldsText() + 'connection: close\r\n\r\n'
  const end = version === 'HTTP/1.0' ? 'connection: keep-alive\r\n\r\n' : '\r\n'
  return start + head.fieldsText() + end
}

function formatUpgradeHead(head: ResponseHead): string {
  const fields = `${head.fieldsText()}connection: upgrade\r\nupgrade: ${head.upgrade}\r\n`
  return `HTTP/1.1 101 ${head.reason}\r\n${fields}\r\n`
}

function selectResponseMode(reply: Reply, method: string, version: string): BodyWriteMode {
  const { framing } = reply.body
  const { status } = reply.head
  if (method === 'HEAD' || status === 204 || status === 304 || framing === 'none') return 'none'
  if (framing === 'length') return 'content'
  return framing === 'chunked' && version !== 'HTTP/1.0' ? 'wire' : 'encode'
}

/** Has the head say how the body goes out; HTTP/1.0 knows no chunks, so that the end of the connection must tell. */
function applyResponseFraming(
  { head, body }: Reply,
  mode: BodyWriteMode,
  version: HttpVersion,
): 'by head' | 'by its end' {
  if (version !== 'HTTP/1.0') {
    if (mode === 'encode') {
      head.remove('content-length')
      head.set('transfer-encoding', 'chunked')
    }
    return 'by head'
  }
  if (body.framing === 'chunked') head.remove('transfer-encoding')
  return mode === 'encode' || body.framing === 'chunked' ? 'by its end' : 'by head'
}

// Tells an HTTP/2 client with prior knowledge from an HTTP/1 one by its first bytes.

const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
/** As much as no HTTP/1 request can start with. */
const TELLING = 16

export function startsLikeHttp2(bytes: Buffer, from: number, to: number): boolean {
  if (bytes[from] !== 80 || bytes[from + 1] !== 82) return false
  const length = Math.min(to - from, TELLING)
  return length > 2 && bytes.compare(HTTP2_PREFACE, 0, length, from, from + length) === 0
}

// Lets connections take turns: many requests that one client has sent at once are not all answered before anybody else's.

/** Requests of one connection that are answered one after the other; then all others have their turn. */
const IN_A_ROW = 16

class FairQueue {
  #row = 0

  /** Calls `next` now or, after so many, when others were served. */
  run(next: () => void): void {
    if (++this.#row < IN_A_ROW) return next()
    setImmediate(() => {
      this.#row = 0
      next()
    })
  }
}
