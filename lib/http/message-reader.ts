// The reading half of an HTTP/1 connection, client's or backend's: heads to its owner, bodies to a sink.
// Bytes nobody can take yet are kept, and the socket paused, until somebody can.

import assert from 'node:assert'
import { bytesInFlight } from '../core/byte-budgets.ts'
import { MAX_LINGER_BYTES, MAX_UNREAD_BYTES } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'
import type { Body, BodyForm, BodyFraming, Sink } from '../core/types.ts'
import { BodyFramer } from './framer.ts'
import { HeaderFields } from '../core/head.ts'
import { copyBuffer } from './transport-socket.ts'
import type { TransportSocket } from './transport-socket.ts'

/** `over`: the message is read; the next waits until its owner calls `next`. */
type Http1ReaderState = 'head' | 'body' | 'over' | 'tunnel' | 'discard'

export interface Http1ReaderOwner {
  /** What comes with a fault, and before it, goes to clients; backends are spared it. */
  readonly beforeFault?: 'passed on'
  /** Parses the head at `from` and calls `expect`; false while it is incomplete. May throw. */
  head(bytes: Buffer, from: number, to: number): boolean
  /** The last byte of the message has been read. */
  messageOver(): void
  /** Head or body cannot be right, or we are not: what was being read is lost. */
  fault(error: GatewayError): void
  /** Nobody wants the rest of the body. */
  bodyCancelled(): void
  /** The peer may send again; until now its silence was ours. */
  resumed(): void
  /** Whether a trailer of this name, in lower case, spoils the message. */
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
  /** Whether the sink has room. */
  #flow: 'running' | 'paused' = 'running'
  /** Read but not taken by anybody; owned, never the shared buffer. */
  #kept: Buffer | null = null
  #socket: 'reading' | 'held' = 'reading'
  /** The bytes in hand, while `#take` works through them; only `#from` moves. */
  #bytes: Buffer = NOTHING
  #from = 0
  #to = 0
  #hand: 'empty' | 'full' = 'empty'
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

  /** Bytes behind the message, or of a head that is not complete. */
  get hasUnread(): boolean {
    return this.#kept !== null || this.#from < this.#to
  }

  /** Somebody takes the body. */
  get isStarted(): boolean {
    return this.#sink !== null
  }

  /** What has come waits for us, so that a silence is not the peer's. */
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
    // A head that comes byte by byte is parsed again only when a line has ended.
    if (fresh.includes(LF) || joined.length >= this.#limits.maxHeadBytes) this.#continue()
  }

  /** Called from the owner's `head`: where the head ends, and what follows it. */
  expectBody(end: number, framing: 'none' | 'length' | 'chunked' | 'close', length: number): void {
    this.#from = end
    this.#framer.start(framing, length, this.#limits.maxBodyBytes)
    const isOver = this.#framer.isOver
    this.framing = isOver ? 'none' : framing === 'close' ? 'open' : framing
    this.length = framing === 'length' ? length : -1
    this.#state = isOver ? 'over' : 'body'
    if (isOver) this.#owner.messageOver()
  }

  /** Called from the owner's `head`: it was an interim one, and another head follows. */
  expectHead(end: number): void {
    this.#from = end
  }

  /** The owner is ready for another message. */
  readNext(): void {
    assert(this.#state === 'over', 'a message is read to its end before the next')
    this.#state = 'head'
    // With bytes in hand, the loop that holds them goes on: a recursion here would be as deep as the pipeline.
    if (this.#hand === 'empty') this.#continue()
  }

  start(sink: Sink, form: BodyForm): void {
    if (this.#state !== 'body' && this.#state !== 'tunnel') return sink.end(null)
    this.#sink = sink
    // Without chunk sizes in it, what comes is the content.
    this.#form = this.framing === 'chunked' ? form : 'wire'
    if (this.#form === 'content')
      this.#framer.onContent = (bytes, from, to) => this.#give(sink, bytes, from, to)
    this.#continue()
  }

  /** From now on bytes are framed by nothing and go to whoever starts this body. */
  becomeTunnel(): void {
    this.#state = 'tunnel'
    this.framing = 'open'
    this.length = -1
  }

  /** Reads and drops what still comes, so that the peer can finish writing and see our answer. */
  discard(): void {
    this.#state = 'discard'
    this.#sink = null
    this.#flow = 'running'
    this.#continue()
  }

  /** Drops a body nobody started, as far as it is here already; true when the message is over. */
  skipBody(): boolean {
    if (this.#state !== 'body' || this.#sink !== null) return this.#state === 'over'
    const [bytes, from, to] =
      this.#hand === 'full'
        ? [this.#bytes, this.#from, this.#to]
        : [this.#kept ?? NOTHING, 0, this.#kept?.length ?? 0]
    try {
      const end = this.#framer.consume(bytes, from, to)
      if (this.#hand === 'full') this.#from = end
      else this.#keep(end < to ? bytes.subarray(end) : null)
    } catch {
      // Malformed as it is, it cannot end; the answer that made us skip it stands.
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

  /** The peer ended. True when that completes what was being read; otherwise it is cut short. */
  ended(): boolean {
    if (this.#state === 'tunnel') this.takeSink()?.end(null)
    else if (this.#state === 'body' && this.#framer.endsWithClose) this.#finish(null)
    else return false
    return true
  }

  /** The socket is gone: what nobody has taken, nobody will. */
  close(): void {
    if (this.#kept !== null) this.#keep(null)
  }

  /** The sink of a body or tunnel under way; whoever takes it must end or cut it. */
  takeSink(): Sink | null {
    const sink = this.#sink
    this.#sink = null
    return sink
  }

  /** Something changed: goes on with the bytes in hand, or with those that were kept. */
  #continue(): void {
    if (this.#hand === 'full') return this.#run()
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
    this.#hand = 'full'
    this.#run()
    this.#hand = 'empty'
    if (this.#from < this.#to) this.#keep(copyBuffer(bytes.subarray(this.#from, this.#to)))
    this.#bytes = NOTHING
    this.#from = this.#to
    this.#hold()
  }

  /** May run inside itself, when a head's owner starts the body at once: they share the bytes in hand. */
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

  /** One state's work on the bytes in hand; false when the rest must wait. */
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

  /** A sink may end the exchange while it takes the bytes: then they are discarded, and nobody would resume. */
  #give(sink: Sink, bytes: Buffer, from: number, to: number): void {
    if (!sink.write(bytes, from, to) && this.#sink === sink) this.#flow = 'paused'
  }

  #finish(trailers: HeaderFields | null): void {
    const sink = this.#sink
    this.#state = 'over'
    this.#sink = null
    this.#flow = 'running'
    // The owner first: a backend's connection is free again before the client's next request looks for one.
    this.#owner.messageOver()
    sink?.end(trailers)
  }

  /** Lets the socket read just when the bytes could go somewhere, or would tell that the peer has left. */
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
