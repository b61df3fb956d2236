// Watches an event stream. What cannot tell anything new is only counted; the rest goes through an event reader, and only
// the events that can tell something are looked into.

import { EventReader } from '../../../base/sse/reader.ts'
import type { Outcome } from '../../../base/types.ts'
import type { Seen } from '../types.ts'
import { Findings } from '../usage/findings.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { blankLineAt } from './blank-line.ts'
import { glean } from './glean.ts'
import { guessOfEvents } from './guess.ts'
import type { Watch } from './watch.ts'
import { hasWord } from './words.ts'

/** The data of one event; a longer one passes unread. */
export const MAX_WATCHED_EVENT_BYTES = 4_194_304

const COLON = 58
const BLANK_LINE = Buffer.from('\n\n')
const DONE = '[DONE]'

export class EventWatch implements Watch {
  readonly #findings: Findings
  readonly #reader: EventReader
  readonly #now: () => number
  #events = 0
  #bytes = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: AnswerDialect, now: () => number) {
    this.#findings = new Findings(dialect)
    this.#now = now
    const owner = {
      event: (name: string, data: Buffer) => this.#event(name, data),
      retry: () => {},
      tooLong: (name: string) => this.#pass(name),
    }
    this.#reader = new EventReader(owner, MAX_WATCHED_EVENT_BYTES, 'skip')
  }

  get seen(): Seen {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = guessOfEvents(this.#events, this.#bytes)
    return this.#findings.seen({ outputGuess, firstAt, lastAt })
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    this.#bytes += to - from
    if (!this.#isDull(bytes, from, to)) this.#reader.write(bytes, from, to)
  }

  end(outcome: Outcome): void {
    // Many clients take a last event without its empty line for one all the same.
    this.#reader.write(BLANK_LINE, 0, BLANK_LINE.length)
    this.#findings.finish(outcome, 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }

  /** Whole events without a word that matters. Comments are not worth counting, and nothing has begun with them. */
  #isDull(bytes: Buffer, from: number, to: number): boolean {
    if (this.#firstAt === 0 || !this.#reader.isBetween || bytes[from] === COLON) return false
    const blank = blankLineAt(bytes, from, to)
    if (blank === '') return false
    const text = bytes.latin1Slice(from, to)
    if (hasWord(text, this.#findings.words)) return false
    this.#events += countOf(text, blank)
    return true
  }

  #event(name: string, data: Buffer): void {
    const text = data.latin1Slice(0, data.length)
    if (text.startsWith(DONE)) return this.#findings.noteEnding(DONE)
    this.#pass(name)
    glean(this.#findings, data, text)
  }

  /** Known by its name alone, as one that is too long to be read. */
  #pass(name: string): void {
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#events++
    if (name !== '') this.#findings.noteEnding(name)
  }
}

function countOf(text: string, blank: string): number {
  let count = 0
  for (let at = 0; at >= 0 && at < text.length; count++) {
    const next = text.indexOf(blank, at)
    at = next < 0 ? next : next + blank.length
  }
  return count
}
