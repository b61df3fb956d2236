// Stands where an answer cannot be read: an unknown coding, pictures, sound. It only sees how much passes.

import type { Outcome } from '../../../base/types.ts'
import type { Seen } from '../types.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { Findings } from '../usage/findings.ts'
import { guessOf } from './guess.ts'
import type { Watch } from './watch.ts'

export class UnreadWatch implements Watch {
  readonly #findings: Findings
  readonly #content: AnswerDialect['unread']
  readonly #now: () => number
  #bytes = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: AnswerDialect, now: () => number, content: AnswerDialect['unread']) {
    this.#findings = new Findings(dialect)
    this.#content = content
    this.#now = now
  }

  get seen(): Seen {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = this.#content === 'text' ? guessOf(this.#bytes) : 0
    return this.#findings.seen({ outputGuess, firstAt, lastAt })
  }

  chunk(_bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#bytes += to - from
  }

  end(outcome: Outcome): void {
    this.#findings.finish(outcome, outcome === 'complete' ? 'whole' : 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }
}
