// Watches an answer whose type says too little, or is not to be trusted: its first byte tells JSON from events.

import type { Outcome } from '../../../base/types.ts'
import type { Seen } from '../types.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { EventWatch } from './events.ts'
import { JsonWatch } from './json.ts'
import type { Watch } from './watch.ts'

const LAST_SPACE = 32
const LAST_ASCII = 127
const OPEN_BRACKET = 91
const OPEN_BRACE = 123

export class SniffedWatch implements Watch {
  readonly #dialect: AnswerDialect
  readonly #now: () => number
  #watch: Watch
  #state: 'unknown' | 'known' = 'unknown'

  constructor(dialect: AnswerDialect, now: () => number) {
    this.#dialect = dialect
    this.#now = now
    // For an answer that says nothing at all.
    this.#watch = new JsonWatch(dialect, now)
  }

  get seen(): Seen {
    return this.#watch.seen
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    if (this.#state === 'unknown') this.#look(bytes, from, to)
    this.#watch.chunk(bytes, from, to)
  }

  end(outcome: Outcome): void {
    this.#watch.end(outcome)
  }

  whenDone(callback: () => void): void {
    this.#watch.whenDone(callback)
  }

  #look(bytes: Buffer, from: number, to: number): void {
    let at = from
    while (at < to && isBefore(bytes[at]!)) at++
    if (at === to) return
    this.#state = 'known'
    const isJson = bytes[at] === OPEN_BRACE || bytes[at] === OPEN_BRACKET
    if (!isJson) this.#watch = new EventWatch(this.#dialect, this.#now)
  }
}

/** White space or a byte order mark. */
function isBefore(byte: number): boolean {
  return byte <= LAST_SPACE || byte > LAST_ASCII
}
