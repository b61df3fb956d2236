// The reading half of an HTTP/1 connection, of a client or a backend: passes heads to its owner and bodies to a sink.
// Bytes that cannot be consumed yet are kept, and the socket is paused.

import assert from 'node:assert'
import { bytesInFlight } from '../core/byte-budgets.ts'
import { MAX_LINGER_BYTES, MAX_UNREAD_BYTES } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import type { Body, BodyForm, BodyFraming, Sink } from '../core/types.ts'
import { BodyFramer } from './framer.ts'
import { HeaderFields } from '../core/head.ts'
import { copyBuffer } from './transport-socket.ts'
import type { TransportSocket } from './transport-socket.ts'

/** `over`: the message is read; the next one waits until the owner calls `readNext`. */
type Http1ReaderState = 'head' | 'body' | 'over' | 'tunnel' | 'discard'

export interface Http1ReaderOwner {
  /** Set if the valid bytes before a fault are forwarded: to clients they are, to backends not. */
  readonly beforeFault?: 'passed on'
  /** Parses the head at `from` and calls `expectBody` or `expectHead`; false while it is incomplete. May throw. */
  head(bytes: Buffer, from: number, to: number): boolean
  /** The last byte of the message has been read. */
  messageOver(): void
  /** The head or the body is invalid, or the gateway failed: the message is lost. */
  fault(error: GatewayError): void
  /** The rest of the body is not needed. */
  bodyCancelled(): void
  /** The socket reads again; until now the gateway itself caused the silence. */
  resumed(): void
  /** Whether a trailer of this name, in lower case, makes the message invalid. */
  refusesTrailer(name: string): boolean
}

export interface Http1ReaderLimits {
  readonly maxHeadBytes: number
  readonly maxBodyBytes: number
}

const LF = 10
const NOTHING = Buffer.alloc(0)

export class Http1Reader implements Body {
  framing: BodyFraming = 'none'
  length = -1
  readonly #owner: Http1ReaderOwner
  readonly #limits: Http1ReaderLimits
  readonly #framer: BodyFramer
  #wire!: TransportSocket
  #state: Http1ReaderState = 'head'
  #sink: Sink | null = null
  #form: BodyForm = 'wire'
  /** Whether the sink takes more bytes. */
  #flow: 'running' | 'paused' = 'running'
  /** Bytes read but not consumed; a copy, never the shared buffer. */
  #kept: Buffer | null = null
  #socket: 'reading' | 'held' = 'reading'
  /** The bytes being processed by `#take`; only `#from` moves. */
  #bytes: Buffer = NOTHING
  #from = 0
  #to = 0
  #work: 'idle' | 'running' = 'idle'
  #discarded = 0

  constructor(owner: Http1ReaderOwner, limits: Http1ReaderLimits) {
    this.#owner = owner
    this.#limits = limits
    this.#framer = new BodyFramer((name) => owner.refusesTrailer(name))
  }

  attach(wire: TransportSocket): void {
    this.#wire = wire
  }

  get state(): Http1ReaderState {
    return this.#state
  }

  /** Whether there are bytes after the message, or of an incomplete head. */
  get hasUnread(): boolean {
    return this.#kept !== null || this.#from < this.#to
  }

  /** A sink takes the body. */
  get isStarted(): boolean {
    return this.#sink !== null
  }

  /** Received bytes wait for the gateway, so the peer is not idle. */
  get isWaiting(): boolean {
    return this.#socket === 'held' || (this.#kept !== null && this.#state !== 'head')
  }

  data(bytes: Buffer, from: number, to: number): void {
    const kept = this.#kept
    if (kept === null) return this.#take(bytes, from, to)
    const fresh = bytes.subarray(from, to)
    const joined = Buffer.concat([kept, fresh])
    this.#keep(joined)
    if (this.#state !== 'head') return this.#hold()
    // A head that arrives byte by byte is parsed again only when a line is complete.
    if (fresh.includes(LF) || joined.length >= this.#limits.maxHeadBytes) this.#continue()
  }

  /** Called from the owner's `head`: where the head ends, and how the body is framed. */
  expectBody(end: number, framing: 'none' | 'length' | 'chunked' | 'close', length: number): void {
    this.#from = end
    this.#framer.start(framing, length, this.#limits.maxBodyBytes)
    const isOver = this.#framer.isOver
    this.framing = isOver ? 'none' : framing === 'close' ? 'open' : framing
    this.length = framing === 'length' ? length : -1
    this.#state = isOver ? 'over' : 'body'
    if (isOver) this.#owner.messageOver()
  }

  /** Called from the owner's `head`: it was an interim head, and another one follows. */
  expectHead(end: number): void {
    this.#from = end
  }

  /** The owner is ready for the next message. */
  readNext(): void {
    assert(this.#state === 'over', 'a message is read to its end before the next')
    this.#state = 'head'
    // With bytes in work, the running loop continues: a recursion here would be as deep as the pipeline.
    if (this.#work === 'idle') this.#continue()
  }

  start(sink: Sink, form: BodyForm): void {
    if (this.#state !== 'body' && this.#state !== 'tunnel') return sink.end(null)
    this.#sink = sink
    // Without chunk sizes, the bytes are the content.
    this.#form = this.framing === 'chunked' ? form : 'wire'
    if (this.#form === 'content')
      this.#framer.onContent = (bytes, from, to) => this.#give(sink, bytes, from, to)
    this.#continue()
  }

  /** From now on bytes have no framing and go to the sink that starts this body. */
  becomeTunnel(): void {
    this.#state = 'tunnel'
    this.framing = 'open'
    this.length = -1
  }

  /** Reads and drops the rest, so that the peer can finish writing and read the response. */
  discard(): void {
    this.#state = 'discard'
    this.#sink = null
    this.#flow = 'running'
    this.#continue()
  }

  /** Drops the received part of a body that was not started; true if the message is over. */
  skipBody(): boolean {
    if (this.#state !== 'body' || this.#sink !== null) return this.#state === 'over'
    const [bytes, from, to] =
      this.#work === 'running'
        ? [this.#bytes, this.#from, this.#to]
        : [this.#kept ?? NOTHING, 0, this.#kept?.length ?? 0]
    try {
      const end = this.#framer.consume(bytes, from, to)
      if (this.#work === 'running') this.#from = end
      else this.#keep(end < to ? bytes.subarray(end) : null)
    } catch {
      // A malformed body has no end; the response that made the gateway skip it is still sent.
      return false
    }
    if (!this.#framer.isOver) return false
    this.#state = 'over'
    this.#owner.messageOver()
    return true
  }

  pause(): void {
    this.#flow = 'paused'
    this.#hold()
  }

  resume(): void {
    if (this.#flow === 'running') return
    this.#flow = 'running'
    this.#continue()
  }

  cancel(): void {
    this.#owner.bodyCancelled()
  }

  /** The peer ended. True if that completes the message; otherwise it is truncated. */
  ended(): boolean {
    if (this.#state === 'tunnel') this.takeSink()?.end(null)
    else if (this.#state === 'body' && this.#framer.endsWithClose) this.#finish(null)
    else return false
    return true
  }

  /** The socket is closed: kept bytes are dropped. */
  close(): void {
    if (this.#kept !== null) this.#keep(null)
  }

  /** The sink of a body or tunnel in progress; the caller must end or cut it. */
  takeSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    return sink
  }

  /** Something changed: continues with the bytes in work, or with those that were kept. */
  #continue(): void {
    if (this.#work === 'running') return this.#run()
    const kept = this.#kept
    if (kept === null) return this.#hold()
    this.#keep(null)
    this.#take(kept, 0, kept.length)
  }

  #keep(bytes: Buffer | null): void {
    bytesInFlight.unread += (bytes?.length ?? 0) - (this.#kept?.length ?? 0)
    this.#kept = bytes
  }

  #take(bytes: Buffer, from: number, to: number): void {
    this.#bytes = bytes
    this.#from = from
    this.#to = to
    this.#work = 'running'
    this.#run()
    this.#work = 'idle'
    if (this.#from < this.#to) this.#keep(copyBuffer(bytes.subarray(this.#from, this.#to)))
    this.#bytes = NOTHING
    this.#from = this.#to
    this.#hold()
  }

  /** May be re-entered when the owner of a head starts the body at once: both calls share the bytes in work. */
  #run(): void {
    try {
      while (this.#from < this.#to && this.#step()) continue
    } catch (error) {
      this.#from = this.#to
      this.#owner.fault(
        error instanceof GatewayError
          ? error
          : new GatewayError('INTERNAL', 'internal error', { cause: error }),
      )
    }
  }

  /** Processes the bytes in work in the current state; false if the rest must wait. */
  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#owner.head(this.#bytes, this.#from, this.#to)
      case 'body':
        return this.#sink !== null && this.#flow === 'running' && this.#body(this.#sink)
      case 'tunnel': {
        if (this.#sink === null || this.#flow === 'paused') return false
        const from = this.#from
        this.#from = this.#to
        this.#give(this.#sink, this.#bytes, from, this.#to)
        return true
      }
      case 'discard':
        this.#discarded += this.#to - this.#from
        this.#from = this.#to
        if (this.#discarded > MAX_LINGER_BYTES) this.#wire.destroy()
        return true
      case 'over':
        return false
    }
  }

  #body(sink: Sink): boolean {
    const from = this.#from
    const end = this.#eat(sink)
    this.#from = end
    if (this.#form === 'wire' && end > from) this.#give(sink, this.#bytes, from, end)
    if (this.#framer.isOver) this.#finish(parseTrailers(this.#framer.trailerText))
    return true
  }

  #eat(sink: Sink): number {
    const from = this.#from
    try {
      return this.#framer.consume(this.#bytes, from, this.#to)
    } catch (error) {
      const { faultAt } = this.#framer
      const isWanted = this.#form === 'wire' && this.#owner.beforeFault === 'passed on'
      if (isWanted && faultAt > from) this.#give(sink, this.#bytes, from, faultAt)
      throw error
    }
  }

  /** A sink may end the exchange during the write: then the bytes are discarded, and `resume` would never be called. */
  #give(sink: Sink, bytes: Buffer, from: number, to: number): void {
    if (!sink.write(bytes, from, to) && this.#sink === sink) this.#flow = 'paused'
  }

  #finish(trailers: HeaderFields | null): void {
    const sink = this.#sink
    this.#state = 'over'
    this.#sink = null
    this.#flow = 'running'
    // The owner first: a backend connection is free again before the client's next request needs one.
    this.#owner.messageOver()
    sink?.end(trailers)
  }

  /** Lets the socket read only if the bytes can be consumed, or a read would detect that the peer has closed. */
  #hold(): void {
    const isFull =
      this.#kept !== null && this.#kept.length >= MAX_UNREAD_BYTES && this.#state !== 'head'
    const wanted = this.#flow === 'paused' || isFull ? 'held' : 'reading'
    if (wanted === this.#socket) return
    this.#socket = wanted
    if (wanted === 'held') return this.#wire.pause()
    this.#wire.resume()
    this.#owner.resumed()
  }
}

function parseTrailers(text: string): HeaderFields | null {
  if (text === '') return null
  const fields = new HeaderFields('', [], 0)
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0)
      fields.add(line.substring(0, colon).toLowerCase(), line.substring(colon + 1).trim())
  }
  return fields
}
