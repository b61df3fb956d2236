// One client's HTTP/1 connection: requests in, one at a time, answers out in the same order. The two
// halves move on their own; this file joins them, keeps the deadlines and ends the connection.

import { LINGER_MS } from '../base/bounds/limits.ts'
import { GatewayError } from '../base/errors.ts'
import { Exchange } from '../base/exchange.ts'
import { exchangeView, someOf } from '../base/live/views.ts'
import type { ConnectionView, Paused } from '../base/live/views.ts'
import type { Body, Client, Manner, Outcome, Peer, Reply, Tunnel } from '../base/types.ts'
import { isForbiddenRequestTrailer } from '../base/wire/field-rules.ts'
import { RequestHead } from '../base/wire/head.ts'
import type { ResponseHead, Version } from '../base/wire/head.ts'
import { parseRequestHead } from '../base/wire/parse-head.ts'
import { Reader } from '../base/wire/reader.ts'
import type { ReaderOwner } from '../base/wire/reader.ts'
import { copyOf } from '../base/wire/socket.ts'
import type { SocketOwner, Wire } from '../base/wire/socket.ts'
import { Writer } from '../base/wire/writer.ts'
import type { WriterOwner } from '../base/wire/writer.ts'
import { answerText, framed, modeOf, upgradeText } from './answer-text.ts'
import type { Connection, Door } from './door.ts'
import { lengthFault } from './length.ts'
import { PREFACE, tellsHttp2 } from './preface.ts'
import { Turns } from './turns.ts'

/**
 * `head`: part of a head is there. `answering`: a request is in work. `closing`: the last answer is out, and what
 * still comes is dropped.
 */
type State = 'idle' | 'head' | 'answering' | 'tunnel' | 'closing' | 'closed'

const MOVES: Record<State, readonly State[]> = {
  idle: ['head', 'answering', 'closing', 'closed'],
  head: ['answering', 'closing', 'closed'],
  answering: ['idle', 'tunnel', 'closing', 'closed'],
  tunnel: ['closing', 'closed'],
  closing: ['closed'],
  closed: [],
}

export class Http1Connection implements SocketOwner, ReaderOwner, WriterOwner, Client, Connection {
  readonly #door: Door
  readonly #reader: Reader
  readonly #writer = new Writer(this)
  readonly #id: number
  readonly #source: Peer
  readonly #moves: number
  readonly #since = performance.now()
  #wire!: Wire
  #state: State = 'idle'
  #exchange: Exchange | null = null
  /** Of the request in work, as it is spoken here. */
  #version: Version = 'HTTP/1.1'
  /** Whether another request may follow the one in work. */
  #persists = true
  #served = 0
  readonly #turns = new Turns()
  /** Of the configuration that the request in work began with. */
  #guardedNames: ReadonlySet<string>
  /** On the clock of `performance.now()`; 0 for none. */
  #readBy: number
  #writeBy = 0

  constructor(door: Door, source: Peer, moves = 0) {
    this.#door = door
    this.#moves = moves
    this.#source = source
    this.#id = door.number()
    this.#reader = new Reader(this, door.limits)
    this.#guardedNames = door.limits.guardedNames
    this.#readBy = door.connections.now + door.limits.headTimeout
  }

  attach(wire: Wire): this {
    this.#wire = wire
    this.#reader.attach(wire)
    this.#writer.attach(wire)
    this.#door.connections.add(this)
    return this
  }

  get written(): number {
    return this.#writer.written
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
    const paused: Paused[] = []
    if (this.#reader.isHeld) paused.push('request')
    if (this.#writeBy !== 0) paused.push('answer')
    return {
      id: this.#id,
      peer: this.#source.label,
      protocol: 'http/1.1',
      age: Math.round(now - this.#since),
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      exchanges: someOf(this.exchanges, (exchange) => exchangeView(exchange, now, paused)),
    }
  }

  /** No more requests: at once when idle, otherwise behind the answer in work. One that lingers is answered once more. */
  drain(manner: Manner): void {
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
    if (this.#isBetween) this.#reader.next()
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
    this.#door.carried(this.#source, this.bytesIn, this.bytesOut)
    this.#writer.abort()
    this.#reader.close()
    const exchange = this.#exchange
    this.#exchange = null
    const hasSaidGoodbye = this.#state === 'tunnel' && !this.#reader.isStarted
    exchange?.abandon(hasSaidGoodbye ? 'complete' : 'client_closed')
    this.#move('closed')
  }

  head(bytes: Buffer, from: number, to: number): boolean {
    if (this.#served === 0 && tellsHttp2(bytes, from, to)) return this.#handOver(bytes, from, to)
    const head = parseRequestHead(bytes, from, to, this.#door.limits)
    if (head === null) {
      // The clock starts with the head's first byte and is not set back by more of them.
      if (this.#state === 'idle') {
        this.#move('head')
        this.#readBy = this.#door.connections.now + this.#door.limits.headTimeout
      }
      return false
    }
    if (this.#door.neighbours !== null && this.#goes(head, bytes.subarray(from, to), to))
      return true
    this.#served++
    this.#readBy = 0
    const framing = head.chunked ? 'chunked' : head.length > 0 ? 'length' : 'none'
    this.#reader.expect(head.end, framing, head.length)
    this.#begin(head)
    if (this.#reader.state === 'body') this.#awaitBody()
    const fault = lengthFault(head.length, this.#door.limits)
    if (fault === null) this.#door.serve(this.#exchange!)
    else this.fault(fault)
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

  inform(head: ResponseHead): void {
    if (this.#version !== 'HTTP/1.1' || this.#state !== 'answering') return
    this.#wire.put(`HTTP/1.1 ${head.status} ${head.reason}\r\n${head.fieldsText()}\r\n`)
  }

  respond(exchange: Exchange, reply: Reply): void {
    const { head, tunnel } = reply
    const { method, keepAlive } = exchange.request
    if (tunnel !== null) return this.#upgrade(head, reply.body, tunnel)
    // A request body that nobody reads must end here, or the next head could not be found.
    const isRead = this.#reader.isStarted || this.#reader.skip()
    if (!keepAlive || !isRead || this.#door.isDraining) this.#persists = false
    const mode = modeOf(reply, method, this.#version)
    if (framed(reply, mode, this.#version) === 'by its end') this.#persists = false
    const text = answerText(head, this.#version, this.#persists ? 'keep' : 'close')
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
    else if (this.#reader.hasUnread) this.#turns.take(() => this.#isBetween && this.#reader.next())
    else this.#reader.next()
  }

  sendCut(outcome: Outcome, unsent: string): void {
    // The head goes out even so: an empty reply would invite clients to send the request again.
    if (unsent !== '') this.#wire.put(unsent)
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
    return this.#reader.isHeld || this.#exchange?.phase === 'relay'
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
    this.#writer.next()
    this.#version = head.version
    const source = this.#door.sourceOf?.(head) ?? this.#source
    this.#exchange = new Exchange(source, head, this.#reader, this, this.#door.steps)
  }

  #handOver(bytes: Buffer, from: number, to: number): boolean {
    if (to - from < PREFACE.length) return false
    this.#reader.expectHead(to)
    this.#door.connections.delete(this)
    this.#move('closed')
    this.#door.http2(this.#wire.release(copyOf(bytes.subarray(from, to))), this.#source)
    return true
  }

  /** To the worker that has the session it asks for, and goes on there; not while an answer is on its way out. */
  #goes(head: RequestHead, unread: Buffer, end: number): boolean {
    const neighbours = this.#door.neighbours!
    const worker = neighbours.ownerOf(head)
    if (worker === null || this.#wire.socket.writableLength > 0) return false
    if (!neighbours.mayGive(this.#moves, unread.length)) return false
    this.#reader.expectHead(end)
    this.#door.connections.delete(this)
    this.#door.carried(this.#source, this.bytesIn, this.bytesOut)
    this.#move('closed')
    const handle = this.#wire.detach()
    if (handle !== null)
      neighbours.give(worker, { handle, unread: copyOf(unread), moves: this.#moves + 1 })
    return true
  }

  #upgrade(head: ResponseHead, body: Body, tunnel: Tunnel): void {
    this.#move('tunnel')
    this.#persists = false
    this.#readBy = 0
    this.#writer.send(upgradeText(head), body, 'content')
    this.#reader.becomeTunnel()
    tunnel.join(this.#reader)
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

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to))
      throw new Error(`http1 connection: ${this.#state} → ${to}`)
    this.#state = to
  }
}
