// Watches an answer in Amazon's event stream framing: each frame has lengths in front, headers, and a payload in JSON, which
// may have another in it as base64. Checksums are for others to check.

import { Pile } from '../../../base/pile.ts'
import type { Outcome } from '../../../base/types.ts'
import type { Seen } from '../types.ts'
import type { AnswerDialect } from '../usage/dialects.ts'
import { Findings } from '../usage/findings.ts'
import { glean } from './glean.ts'
import { guessOfEvents } from './guess.ts'
import type { Watch } from './watch.ts'

/** A longer payload passes unread. */
export const MAX_WATCHED_PAYLOAD_BYTES = 65_536

/** The length of all, that of the headers, and a checksum of both; behind the payload there is another. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** By the framing's own rules. */
const MAX_FRAME_BYTES = 25_165_824

/** What a model that is asked in its own dialect answers. */
const WRAPPED = /"bytes"\s*:\s*"([A-Za-z0-9+/=]+)"/

/** `broken`: it is something else. */
type State = 'prelude' | 'headers' | 'payload' | 'checksum' | 'broken'

export class FrameWatch implements Watch {
  readonly #findings: Findings
  readonly #now: () => number
  readonly #pile = new Pile()
  #state: State = 'prelude'
  /** Bytes to come of the part in work, and of the payload in all. */
  #left = PRELUDE_BYTES
  #payload = 0
  #frames = 0
  #bytes = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: AnswerDialect, now: () => number) {
    this.#findings = new Findings(dialect)
    this.#now = now
  }

  get seen(): Seen {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = guessOfEvents(this.#frames, this.#bytes)
    return this.#findings.seen({ outputGuess, firstAt, lastAt })
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#bytes += to - from
    let at = from
    while (at < to && this.#state !== 'broken') at = this.#eat(bytes, at, to)
  }

  end(outcome: Outcome): void {
    const isWhole = this.#state === 'prelude' && this.#pile.length === 0 && outcome === 'complete'
    this.#pile.take()
    this.#findings.finish(outcome, isWhole ? 'whole' : 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }

  #eat(bytes: Buffer, from: number, to: number): number {
    const end = Math.min(to, from + this.#left)
    const isRead = this.#state === 'payload' && this.#payload <= MAX_WATCHED_PAYLOAD_BYTES
    if (isRead || this.#state === 'prelude') this.#pile.add(bytes, from, end)
    this.#left -= end - from
    // Parts may be empty.
    while (this.#left === 0 && this.#state !== 'broken') this.#next(this.#pile.take())
    return end
  }

  /** The part in work is complete. */
  #next(part: Buffer): void {
    switch (this.#state) {
      case 'prelude':
        return this.#open(part.readUInt32BE(0), part.readUInt32BE(4))
      case 'headers':
        return this.#go('payload', this.#payload)
      case 'payload':
        this.#frames++
        this.#read(part)
        return this.#go('checksum', CHECKSUM_BYTES)
      case 'checksum':
        return this.#go('prelude', PRELUDE_BYTES)
    }
  }

  #open(all: number, headers: number): void {
    this.#payload = all - headers - PRELUDE_BYTES - CHECKSUM_BYTES
    const isFrame = this.#payload >= 0 && all <= MAX_FRAME_BYTES
    this.#go(isFrame ? 'headers' : 'broken', headers)
  }

  #go(state: State, bytes: number): void {
    this.#state = state
    this.#left = bytes
  }

  #read(payload: Buffer): void {
    const text = payload.latin1Slice()
    const [, wrapped] = WRAPPED.exec(text) ?? []
    if (wrapped === undefined) return glean(this.#findings, payload, text)
    const inner = Buffer.from(wrapped, 'base64')
    glean(this.#findings, inner, inner.latin1Slice())
  }
}
