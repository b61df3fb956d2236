// The HTTP/1 connection of one client: joins the reading half and the writing half, serves one request at a time,
// checks the deadlines and closes the connection.

import { LINGER_MS } from '../core/bounds.ts'
import type { PortLimits } from '../core/bounds.ts'
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
import { isRefusedTrailer, removeAmbiguousNames } from '../http/header-fields.ts'
import { Http1Reader } from '../http/message-reader.ts'
import type { Http1ReaderOwner } from '../http/message-reader.ts'
import { Http1Writer } from '../http/message-writer.ts'
import type { BodyWriteMode, Http1WriterOwner } from '../http/message-writer.ts'
import { normalizeTarget } from '../http/normalize-path.ts'
import { parseRequestHead } from '../http/parse-head.ts'
import { copyBuffer } from '../http/transport-socket.ts'
import type { SocketOwner, TransportSocket } from '../http/transport-socket.ts'
import { checkBodyLength } from './body-length.ts'
import type { ClientConnection, ConnectionListener } from './connection-listener.ts'

/**
 * `head`: part of a request head was received. `answering`: a request is in progress. `closing`: the last response is
 * sent, and all further bytes are dropped.
 */
type Http1ConnectionState = 'idle' | 'head' | 'answering' | 'tunnel' | 'closing' | 'closed'

const TRANSITIONS: Record<Http1ConnectionState, readonly Http1ConnectionState[]> = {
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
  readonly #listener: ConnectionListener
  readonly #reader: Http1Reader
  readonly #writer = new Http1Writer(this)
  readonly #id: number
  readonly #source: ClientAddress
  readonly #handoverCount: number
  readonly #openedAt = performance.now()
  #wire!: TransportSocket
  #state: Http1ConnectionState = 'idle'
  #exchange: Exchange | null = null
  /** The HTTP version of the request in progress on this connection. */
  #version: HttpVersion = 'HTTP/1.1'
  /** Whether another request may follow the one in progress. */
  #isPersistent = true
  #requestCount = 0
  readonly #fairQueue = new FairQueue()
  /** From the configuration that the request in progress started with. */
  #portLimits: PortLimits
  /** In the time of `performance.now()`; 0 for none. */
  #readDeadline: number
  #writeDeadline = 0

  constructor(listener: ConnectionListener, source: ClientAddress, handoverCount = 0) {
    this.#listener = listener
    this.#handoverCount = handoverCount
    this.#source = source
    this.#id = listener.nextConnectionId()
    this.#reader = new Http1Reader(this, listener.limits)
    this.#portLimits = listener.limits
    this.#readDeadline = listener.connections.now + listener.limits.headTimeout
  }

  attach(wire: TransportSocket): this {
    this.#wire = wire
    this.#reader.attach(wire)
    this.#writer.attach(wire)
    this.#listener.connections.add(this)
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
    if (this.#writeDeadline !== 0) paused.push('answer')
    return {
      id: this.#id,
      peer: this.#source.label,
      protocol: 'http/1.1',
      age: Math.round(now - this.#openedAt),
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      exchanges: limitList(this.exchanges, (exchange) => describeExchange(exchange, now, paused)),
    }
  }

  /**
   * Accepts no more requests: closes now if idle, otherwise after the response in progress. With `linger`, an idle client
   * may send one more request.
   */
  drain(mode: DrainMode): void {
    this.#isPersistent = false
    if (this.#state !== 'idle' && this.#state !== 'head') return
    if (mode === 'linger') {
      if (this.#state === 'idle') this.#readDeadline = this.#listener.connections.now + LINGER_MS
      return
    }
    // The last response may not be written completely yet.
    if (this.#wire.socket.writableLength > 0) this.#close()
    else this.#wire.destroy()
  }

  shutDown(): void {
    this.#exchange?.cut('shutdown')
    this.#wire.destroy()
  }

  data(bytes: Buffer, from: number, to: number): void {
    this.#reader.data(bytes, from, to)
    if (this.#reader.state === 'body') this.#restartBodyTimeout()
  }

  drained(): void {
    this.#writeDeadline = 0
    if (this.#isBetweenRequests) this.#reader.readNext()
    else this.#writer.drained()
  }

  ended(): void {
    if (this.#reader.ended()) return
    // A half-closed connection looks the same as a client that has disconnected.
    this.#exchange?.abandon('client_closed')
    this.#wire.destroy()
  }

  closed(): void {
    this.#listener.connections.delete(this)
    this.#listener.recordClosed(this.#source, this.bytesIn, this.bytesOut)
    this.#writer.abort()
    this.#reader.close()
    const exchange = this.#exchange
    this.#exchange = null
    const isTunnelOver = this.#state === 'tunnel' && !this.#reader.isStarted
    exchange?.abandon(isTunnelOver ? 'complete' : 'client_closed')
    this.#setState('closed')
  }

  head(bytes: Buffer, from: number, to: number): boolean {
    if (this.#requestCount === 0 && startsLikeHttp2(bytes, from, to))
      return this.#switchToHttp2(bytes, from, to)
    const head = parseRequestHead(bytes, from, to, this.#listener.limits)
    if (head === null) {
      // The timeout starts with the first byte of the head; later bytes do not restart it.
      if (this.#state === 'idle') {
        this.#setState('head')
        this.#readDeadline = this.#listener.connections.now + this.#listener.limits.headTimeout
      }
      return false
    }
    if (this.#listener.peers !== null && this.#handOverToOwner(head, bytes.subarray(from, to), to))
      return true
    removeAmbiguousNames(head, this.#listener.limits)
    this.#requestCount++
    this.#readDeadline = 0
    const framing = head.chunked ? 'chunked' : head.length > 0 ? 'length' : 'none'
    this.#reader.expectBody(head.end, framing, head.length)
    const { limits } = this.#listener
    const pathFault = normalizeTarget(head, limits.normalizePath)
    this.#startExchange(head)
    if (this.#reader.state === 'body') this.#restartBodyTimeout()
    const fault = pathFault ?? checkBodyLength(head.length, limits)
    const exchange = this.#exchange!
    if (fault !== null) this.fault(fault)
    else this.#listener.handler.serve(exchange, this.#listener.portFor(exchange.source))
    return true
  }

  messageOver(): void {
    this.#readDeadline = 0
  }

  fault(error: GatewayError): void {
    this.#isPersistent = false
    if (this.#exchange === null) this.#startExchange(RequestHead.unreadable('HTTP/1.1'))
    this.#exchange?.fail(error)
  }

  bodyCancelled(): void {}

  resumed(): void {
    if (this.#reader.state === 'body') this.#restartBodyTimeout()
  }

  refusesTrailer(name: string): boolean {
    return isRefusedTrailer(name, this.#portLimits)
  }

  sendInterim(head: ResponseHead): void {
    if (this.#version !== 'HTTP/1.1' || this.#state !== 'answering') return
    this.#wire.write(`HTTP/1.1 ${head.status} ${head.reason}\r\n${head.fieldsText()}\r\n`)
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, tunnel } = reply
    const { method, keepAlive } = exchange.request
    if (tunnel !== null) return this.#upgrade(head, reply.body, tunnel)
    // A request body without a reader must be skipped, or the next head could not be found.
    const isRead = this.#reader.isStarted || this.#reader.skipBody()
    if (!keepAlive || !isRead || this.#listener.isDraining) this.#isPersistent = false
    const mode = selectResponseMode(reply, method, this.#version)
    if (applyResponseFraming(reply, mode, this.#version) === 'by close') this.#isPersistent = false
    const text = formatResponseHead(head, this.#version, this.#isPersistent ? 'keep' : 'close')
    const form = this.#version === 'HTTP/1.0' && mode !== 'none' ? 'content' : mode
    this.#writer.send(text, reply.body, form)
  }

  sent(): void {
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.settle('complete')
    if (!this.#isPersistent || this.#reader.state !== 'over' || this.#listener.isDraining)
      return this.#close()
    this.#setState('idle')
    this.#readDeadline = this.#listener.connections.now + this.#listener.limits.keepAliveTimeout
    // Responses that the client does not read must not accumulate: the next request waits until they are written.
    if (this.#wire.isFull) this.stalled()
    else if (this.#reader.hasUnread)
      this.#fairQueue.run(() => this.#isBetweenRequests && this.#reader.readNext())
    else this.#reader.readNext()
  }

  sendCut(outcome: Outcome, unsent: string): void {
    // The head is sent nevertheless: clients send the request again after an empty reply.
    if (unsent !== '') this.#wire.write(unsent)
    this.#exchange?.cut(outcome)
  }

  stalled(): void {
    this.#writeDeadline = this.#listener.connections.now + this.#listener.limits.responseIdleTimeout
  }

  cut(): void {
    this.#wire.destroy()
  }

  sweep(now: number): void {
    if (this.#writeDeadline !== 0 && now > this.#writeDeadline) return this.#expireWrite()
    if (this.#readDeadline === 0) return
    if (this.#reader.state === 'body' && this.#mayPauseBody) return this.#restartBodyTimeout()
    if (now <= this.#readDeadline) return
    this.#readDeadline = 0
    if (this.#state === 'closing') return this.#wire.destroy()
    if (this.#state === 'idle') return this.#close()
    if (this.#state === 'head')
      return this.fault(new GatewayError('HEAD_TIMEOUT', 'request head timeout'))
    if (this.#reader.state === 'body')
      this.fault(new GatewayError('BODY_TIMEOUT', 'request body timeout'))
  }

  /** The response to one request is sent, and the next request is not read yet. */
  get #isBetweenRequests(): boolean {
    return this.#state === 'idle' && this.#reader.state === 'over'
  }

  /** The client may pause its body while the backend does not read it, and after the response has started. */
  get #mayPauseBody(): boolean {
    return this.#reader.isWaiting || this.#exchange?.phase === 'relay'
  }

  #expireWrite(): void {
    this.#writeDeadline = 0
    if (this.#exchange === null) this.#wire.destroy()
    else this.#exchange.cut('idle')
  }

  #restartBodyTimeout(): void {
    this.#readDeadline = this.#listener.connections.now + this.#listener.limits.bodyIdleTimeout
  }

  #startExchange(head: RequestHead): void {
    this.#setState('answering')
    this.#portLimits = this.#listener.limits
    this.#writer.startMessage()
    this.#version = head.version
    const source = this.#listener.relayedSourceOf?.(head) ?? this.#source
    this.#exchange = new Exchange(source, head, this.#reader, this, this.#listener.handler)
  }

  #switchToHttp2(bytes: Buffer, from: number, to: number): boolean {
    if (to - from < HTTP2_PREFACE.length) return false
    this.#reader.expectHead(to)
    this.#listener.connections.delete(this)
    this.#setState('closed')
    this.#listener.adoptHttp2(
      this.#wire.detachForHttp2(copyBuffer(bytes.subarray(from, to))),
      this.#source,
    )
    return true
  }

  /** Moves the connection to the worker that owns the session of the request, unless a response is still being written. */
  #handOverToOwner(head: RequestHead, unread: Buffer, end: number): boolean {
    const peers = this.#listener.peers!
    const worker = peers.findOwner(head)
    if (worker === null || this.#wire.socket.writableLength > 0) return false
    if (!peers.canHandOver(this.#handoverCount, unread.length)) return false
    this.#reader.expectHead(end)
    this.#listener.connections.delete(this)
    this.#listener.recordClosed(this.#source, this.bytesIn, this.bytesOut)
    this.#setState('closed')
    const handle = this.#wire.detachHandle()
    if (handle !== null)
      peers.handOver(worker, {
        handle,
        unread: copyBuffer(unread),
        handoverCount: this.#handoverCount + 1,
      })
    return true
  }

  #upgrade(head: ResponseHead, body: Body, tunnel: Tunnel): void {
    this.#setState('tunnel')
    this.#isPersistent = false
    this.#readDeadline = 0
    this.#writer.send(formatUpgradeHead(head), body, 'content')
    this.#reader.becomeTunnel()
    tunnel.connectSource(this.#reader)
  }

  /** Ends the writing half and reads on for a moment: an immediate close could reset the connection before the response is read. */
  #close(): void {
    this.#setState('closing')
    this.#readDeadline = 0
    this.#writeDeadline = this.#listener.connections.now + this.#listener.limits.responseIdleTimeout
    this.#reader.discard()
    this.#wire.end(() => {
      this.#writeDeadline = 0
      this.#readDeadline = this.#listener.connections.now + LINGER_MS
    })
  }

  #setState(to: Http1ConnectionState): void {
    if (!TRANSITIONS[this.#state].includes(to))
      throw new Error(`http1 connection: ${this.#state} → ${to}`)
    this.#state = to
  }
}

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

/** Sets the framing headers for the body. HTTP/1.0 has no chunks, so closing the connection must end the body. */
function applyResponseFraming(
  { head, body }: Reply,
  mode: BodyWriteMode,
  version: HttpVersion,
): 'by head' | 'by close' {
  if (version !== 'HTTP/1.0') {
    if (mode === 'encode') {
      head.remove('content-length')
      head.set('transfer-encoding', 'chunked')
    }
    return 'by head'
  }
  if (body.framing === 'chunked') head.remove('transfer-encoding')
  return mode === 'encode' || body.framing === 'chunked' ? 'by close' : 'by head'
}

const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
/** No HTTP/1 request can start with these first bytes of the preface. */
const DISTINCT_PREFACE_BYTES = 16

/** Whether the first bytes of a connection are those of an HTTP/2 client with prior knowledge. */
export function startsLikeHttp2(bytes: Buffer, from: number, to: number): boolean {
  if (bytes[from] !== 80 || bytes[from + 1] !== 82) return false
  const length = Math.min(to - from, DISTINCT_PREFACE_BYTES)
  return length > 2 && bytes.compare(HTTP2_PREFACE, 0, length, from, from + length) === 0
}

/** Pipelined requests of one connection that are served before other connections get their turn. */
const MAX_CONSECUTIVE_REQUESTS = 16

/** Keeps one client that pipelines many requests from delaying all other connections. */
class FairQueue {
  #consecutive = 0

  /** Calls `next` now or, after `MAX_CONSECUTIVE_REQUESTS`, once the event loop has served other connections. */
  run(next: () => void): void {
    if (++this.#consecutive < MAX_CONSECUTIVE_REQUESTS) return next()
    setImmediate(() => {
      this.#consecutive = 0
      next()
    })
  }
}
