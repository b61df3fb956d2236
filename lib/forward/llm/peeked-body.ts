// A response body whose first bytes are read before it is decided whether the client gets it. If so, all bytes are forwarded
// unchanged.

import { ByteBuffer } from '../../text/byte-buffer.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../core/types.ts'
import type { HeaderFields } from '../../core/head.ts'

/** Bounds of the first bytes, and of the wait for them in ms; an error message has named its reason by then. */
const MAX_PEEKED_BYTES = 16_384
const PEEK_DEADLINE = 2_000

/** `decided`: the first bytes were reported; the source is paused until `start`. */
type PeekedBodyState = 'fresh' | 'peeking' | 'decided' | 'flowing' | 'over'

const PEEKED_BODY_TRANSITIONS: Record<PeekedBodyState, readonly PeekedBodyState[]> = {
  fresh: ['peeking'],
  peeking: ['decided', 'over'],
  decided: ['flowing', 'over'],
  flowing: ['over'],
  over: [],
}

export class PeekedBody implements Body, Sink {
  readonly framing: BodyFraming
  readonly length: number
  readonly #source: Body
  readonly #buffer = new ByteBuffer()
  #state: PeekedBodyState = 'fresh'
  #sourceState: 'open' | 'ended' | Outcome = 'open'
  #trailers: HeaderFields | null = null
  #decide!: (beginning: string) => void
  #isEnough: (beginning: string) => boolean = () => false
  #timer: NodeJS.Timeout | null = null
  #sink!: Sink

  constructor(source: Body) {
    // The content is kept without its chunk framing.
    this.framing = source.framing === 'chunked' ? 'open' : source.framing
    this.length = source.length
    this.#source = source
  }

  /** The source broke off. */
  get isCut(): boolean {
    return this.#sourceState !== 'open' && this.#sourceState !== 'ended'
  }

  /**
   * `decide` gets the first bytes once, in its own microtask, and then starts or cancels this body. `isEnough` ends the wait
   * for more bytes.
   */
  peek(
    decide: (beginning: string) => void,
    isEnough: (beginning: string) => boolean = () => false,
  ): void {
    this.#move('peeking')
    this.#decide = decide
    this.#isEnough = isEnough
    this.#timer = setTimeout(() => this.#reportBeginning(), PEEK_DEADLINE)
    this.#source.start(this, 'content')
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#move('flowing')
    this.#sink = sink
    const beginning = this.#buffer.take()
    const hasRoom = beginning.length === 0 || sink.write(beginning, 0, beginning.length)
    if (this.#state !== 'flowing') return
    if (this.#sourceState === 'ended') sink.end(this.#trailers)
    else if (this.#sourceState !== 'open') sink.cut(this.#sourceState)
    else if (hasRoom) this.#source.resume()
  }

  pause(): void {
    if (this.#sourceState === 'open') this.#source.pause()
  }

  resume(): void {
    if (this.#sourceState === 'open') this.#source.resume()
  }

  cancel(): void {
    this.abandon()
    // After the end, the connection may already have another call.
    if (this.#sourceState === 'open') this.#source.cancel()
  }

  /** Stops without a call of `decide`; the caller ends the source. */
  abandon(): void {
    if (this.#state !== 'over') this.#move('over')
    this.#stopTimer()
    this.#buffer.take()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'flowing') return this.#sink.write(bytes, from, to)
    if (this.#state === 'over') return true
    this.#buffer.append(bytes, from, to)
    if (this.#buffer.length >= MAX_PEEKED_BYTES || this.#isEnough(this.#beginning))
      this.#reportBeginning()
    return this.#state === 'peeking'
  }

  end(trailers: HeaderFields | null): void {
    this.#sourceState = 'ended'
    this.#trailers = trailers
    if (this.#state === 'flowing') this.#sink.end(trailers)
    else this.#reportBeginning()
  }

  cut(outcome: Outcome): void {
    this.#sourceState = outcome
    if (this.#state === 'flowing') this.#sink.cut(outcome)
    else this.#reportBeginning()
  }

  #reportBeginning(): void {
    if (this.#state !== 'peeking') return
    this.#move('decided')
    this.#stopTimer()
    if (this.#sourceState === 'open') this.#source.pause()
    queueMicrotask(() => {
      if (this.#state !== 'decided') return
      this.#decide(this.#beginning)
    })
  }

  get #beginning(): string {
    const bytes = this.#buffer.take()
    this.#buffer.append(bytes, 0, bytes.length)
    return bytes.toString('utf8', 0, MAX_PEEKED_BYTES)
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #move(to: PeekedBodyState): void {
    if (!PEEKED_BODY_TRANSITIONS[this.#state].includes(to))
      throw new Error(`peeked body: ${this.#state} → ${to}`)
    this.#state = to
  }
}
