// An answer's body whose beginning is read before anybody knows whether the client is to have it. If so, it passes as it
// came.

import { ByteBuffer } from '../../text/byte-buffer.ts'
import type { Body, BodyForm, BodyFraming, Outcome, Sink } from '../../core/types.ts'
import type { HeaderFields } from '../../core/head.ts'

/** How much is read, and how long, in ms; an error has said by then what it is about. */
const MAX_PEEKED_BYTES = 16_384
const PEEK_DEADLINE = 2_000

/** `decided`: the beginning was shown, and what comes now waits. */
type PeekedBodyState = 'fresh' | 'tasting' | 'decided' | 'flowing' | 'over'

const PEEKED_BODY_TRANSITIONS: Record<PeekedBodyState, readonly PeekedBodyState[]> = {
  fresh: ['tasting'],
  tasting: ['decided', 'over'],
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
  #sourceState: 'more' | 'nothing' | Outcome = 'more'
  #trailers: HeaderFields | null = null
  #decide!: (beginning: string) => void
  #timer: NodeJS.Timeout | null = null
  #sink!: Sink

  constructor(source: Body) {
    // Its content is kept without its framing.
    this.framing = source.framing === 'chunked' ? 'open' : source.framing
    this.length = source.length
    this.#source = source
  }

  /** `decide` hears the beginning once, in a tick of its own, and starts or cancels it. */
  peek(decide: (beginning: string) => void): void {
    this.#move('tasting')
    this.#decide = decide
    this.#timer = setTimeout(() => this.#reportBeginning(), PEEK_DEADLINE)
    this.#source.start(this, 'content')
  }

  start(sink: Sink, _form: BodyForm): void {
    this.#move('flowing')
    this.#sink = sink
    const beginning = this.#buffer.take()
    const hasRoom = beginning.length === 0 || sink.write(beginning, 0, beginning.length)
    if (this.#state !== 'flowing') return
    if (this.#sourceState === 'nothing') sink.end(this.#trailers)
    else if (this.#sourceState !== 'more') sink.cut(this.#sourceState)
    else if (hasRoom) this.#source.resume()
  }

  pause(): void {
    if (this.#sourceState === 'more') this.#source.pause()
  }

  resume(): void {
    if (this.#sourceState === 'more') this.#source.resume()
  }

  cancel(): void {
    this.abandon()
    // Behind its end the connection may be somebody else's.
    if (this.#sourceState === 'more') this.#source.cancel()
  }

  /** Nobody waits for it any more; whoever calls this ends the source. */
  abandon(): void {
    if (this.#state !== 'over') this.#move('over')
    this.#stopTimer()
    this.#buffer.take()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'flowing') return this.#sink.write(bytes, from, to)
    if (this.#state === 'over') return true
    this.#buffer.append(bytes, from, to)
    if (this.#buffer.length >= MAX_PEEKED_BYTES) this.#reportBeginning()
    return this.#state === 'tasting'
  }

  end(trailers: HeaderFields | null): void {
    this.#sourceState = 'nothing'
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
    if (this.#state !== 'tasting') return
    this.#move('decided')
    this.#stopTimer()
    if (this.#sourceState === 'more') this.#source.pause()
    queueMicrotask(() => {
      if (this.#state !== 'decided') return
      const beginning = this.#buffer.take()
      this.#buffer.append(beginning, 0, beginning.length)
      this.#decide(beginning.toString('utf8', 0, MAX_PEEKED_BYTES))
    })
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #move(to: PeekedBodyState): void {
    if (!PEEKED_BODY_TRANSITIONS[this.#state].includes(to))
      throw new Error(`tasted body: ${this.#state} → ${to}`)
    this.#state = to
  }
}
