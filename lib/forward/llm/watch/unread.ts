// Stands where an answer cannot be read: an unknown coding, pictures, sound. It only sees that something passes.

import type { Outcome } from '../../../base/types.ts'
import type { Seen } from '../types.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { Findings } from '../usage/findings.ts'
import type { Watch } from './watch.ts'

export class UnreadWatch implements Watch {
  readonly #findings: Findings
  readonly #content: AnswerDialect['content']
  readonly #now: () => number
  #chunks = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: AnswerDialect, now: () => number) {
    this.#findings = new Findings(dialect)
    this.#content = dialect.content
    this.#now = now
  }

  /** A chunk is likely an event at least. Bytes would say less, as long as nobody knows what they are. */
  get seen(): Seen {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = this.#content === 'text' ? this.#chunks : 0
    return this.#findings.seen({ outputGuess, firstAt, lastAt })
  }

  chunk(): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#chunks++
  }

  end(outcome: Outcome): void {
    this.#findings.finish(outcome, outcome === 'complete' ? 'whole' : 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }
}
