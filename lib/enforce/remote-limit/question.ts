// What one request has to ask a rate limit service, over one stream or, when that was not looked at, another.

import type { Call } from '../../base/types.ts'
import { Ask, isFailure } from './ask.ts'
import type { Asked, AskOwner, Failure, Leave } from './ask.ts'

const MAX_TRIES = 2

/** A question on its way. */
export interface Asking extends Call {
  /** Never rejects. */
  readonly answer: Promise<Asked>
}

export interface QuestionHome {
  /** Puts it on a stream, or says why not. */
  send(question: Question): Ask | Failure
  /** How one leaves that is not waited for any more. */
  leave(): Leave
  /** A stream of it is gone. */
  closed(): void
  /** It is over; whoever waits for the answer hears of it after this. */
  answered(asked: Asked): void
}

export class Question implements Asking, AskOwner {
  readonly bytes: Buffer
  /** On the clock of its home. */
  readonly by: number
  readonly answer: Promise<Asked>
  readonly #home: QuestionHome
  readonly #resolve: (asked: Asked) => void
  #ask: Ask | null = null
  #triesLeft = MAX_TRIES

  constructor(home: QuestionHome, bytes: Buffer, by: number) {
    this.#home = home
    this.bytes = bytes
    this.by = by
    let resolve!: (asked: Asked) => void
    this.answer = new Promise((resolved) => (resolve = resolved))
    this.#resolve = resolve
  }

  send(): void {
    this.#triesLeft--
    const sent = this.#home.send(this)
    if (sent instanceof Ask) this.#ask = sent
    else this.done(sent)
  }

  done(asked: Asked): void {
    this.#ask = null
    const isRefused = isFailure(asked) && asked.kind === 'refused'
    if (isRefused && this.#triesLeft > 0) return this.send()
    this.#home.answered(asked)
    this.#resolve(asked)
  }

  closed(): void {
    this.#home.closed()
  }

  cancel(): void {
    this.#ask?.cancel(this.#home.leave())
  }
}
