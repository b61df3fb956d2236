// An answer's body whose beginning is read before anybody knows whether the client is to have it. If so, it passes as it
// came.

import { Pile } from '../../base/pile.ts'
import type { Body, Form, Framing, Outcome, Sink } from '../../base/types.ts'
import type { Fields } from '../../base/wire/head.ts'

/** How much is read, and how long, in ms; an error has said by then what it is about. */
const MAX_TASTED_BYTES = 16_384
const TASTING_DEADLINE = 2_000

/** `decided`: the beginning was shown, and what comes now waits. */
type State = 'fresh' | 'tasting' | 'decided' | 'flowing' | 'over'

const MOVES: Record<State, readonly State[]> = {
  fresh: ['tasting'],
  tasting: ['decided', 'over'],
  decided: ['flowing', 'over'],
  flowing: ['over'],
  over: [],
}

export class TastedBody implements Body, Sink {
  readonly framing: Framing
  readonly length: number
  readonly #source: Body
  readonly #pile = new Pile()
  #state: State = 'fresh'
  #coming: 'more' | 'nothing' | Outcome = 'more'
  #trailers: Fields | null = null
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
  taste(decide: (beginning: string) => void): void {
    this.#move('tasting')
    this.#decide = decide
    this.#timer = setTimeout(() => this.#show(), TASTING_DEADLINE)
    this.#source.start(this, 'content')
  }

  start(sink: Sink, _form: Form): void {
    this.#move('flowing')
    this.#sink = sink
    const beginning = this.#pile.take()
    const hasRoom = beginning.length === 0 || sink.write(beginning, 0, beginning.length)
    if (this.#state !== 'flowing') return
    if (this.#coming === 'nothing') sink.end(this.#trailers)
    else if (this.#coming !== 'more') sink.cut(this.#coming)
    else if (hasRoom) this.#source.resume()
  }

  pause(): void {
    if (this.#coming === 'more') this.#source.pause()
  }

  resume(): void {
    if (this.#coming === 'more') this.#source.resume()
  }

  cancel(): void {
    this.drop()
    // Behind its end the connection may be somebody else's.
    if (this.#coming === 'more') this.#source.cancel()
  }

  /** Nobody waits for it any more; whoever calls this ends the source. */
  drop(): void {
    if (this.#state !== 'over') this.#move('over')
    this.#stopTimer()
    this.#pile.take()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'flowing') return this.#sink.write(bytes, from, to)
    if (this.#state === 'over') return true
    this.#pile.add(bytes, from, to)
    if (this.#pile.length >= MAX_TASTED_BYTES) this.#show()
    return this.#state === 'tasting'
  }

  end(trailers: Fields | null): void {
    this.#coming = 'nothing'
    this.#trailers = trailers
    if (this.#state === 'flowing') this.#sink.end(trailers)
    else this.#show()
  }

  cut(outcome: Outcome): void {
    this.#coming = outcome
    if (this.#state === 'flowing') this.#sink.cut(outcome)
    else this.#show()
  }

  #show(): void {
    if (this.#state !== 'tasting') return
    this.#move('decided')
    this.#stopTimer()
    if (this.#coming === 'more') this.#source.pause()
    queueMicrotask(() => {
      if (this.#state !== 'decided') return
      const beginning = this.#pile.take()
      this.#pile.add(beginning, 0, beginning.length)
      this.#decide(beginning.toString('utf8', 0, MAX_TASTED_BYTES))
    })
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`tasted body: ${this.#state} → ${to}`)
    this.#state = to
  }
}
