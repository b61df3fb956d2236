// Watches an answer in Amazon's event stream framing: each frame has lengths in front, headers, and a payload in JSON, which
// may have another in it as base64. Checksums are for others to check.

import { ByteBuffer } from '../../../text/byte-buffer.ts'
import type { Outcome } from '../../../core/types.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import type { ResponseDialect } from './usage-dialects.ts'
import { extractUsage, guessEventTokens, UsageFindings } from './extract-usage.ts'
import type { ResponseWatch } from './response-watch.ts'

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
type FrameWatchState = 'prelude' | 'headers' | 'payload' | 'checksum' | 'broken'

export class FrameWatch implements ResponseWatch {
  readonly #findings: UsageFindings
  readonly #now: () => number
  readonly #buffer = new ByteBuffer()
  #state: FrameWatchState = 'prelude'
  /** Bytes to come of the part in work, and of the payload in all. */
  #left = PRELUDE_BYTES
  #payload = 0
  #frames = 0
  #bytes = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#findings = new UsageFindings(dialect)
    this.#now = now
  }

  get observed(): ObservedUsage {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = guessEventTokens(this.#frames, this.#bytes)
    return this.#findings.toObservedUsage({ outputGuess, firstAt, lastAt })
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#bytes += to - from
    let at = from
    while (at < to && this.#state !== 'broken') at = this.#consume(bytes, at, to)
  }

  end(outcome: Outcome): void {
    const isWhole = this.#state === 'prelude' && this.#buffer.length === 0 && outcome === 'complete'
    this.#buffer.take()
    this.#findings.finish(outcome, isWhole ? 'whole' : 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }

  #consume(bytes: Buffer, from: number, to: number): number {
    const end = Math.min(to, from + this.#left)
    const isRead = this.#state === 'payload' && this.#payload <= MAX_WATCHED_PAYLOAD_BYTES
    if (isRead || this.#state === 'prelude') this.#buffer.append(bytes, from, end)
    this.#left -= end - from
    // Parts may be empty.
    while (this.#left === 0 && this.#state !== 'broken') this.#partComplete(this.#buffer.take())
    return end
  }

  /** The part in work is complete. */
  #partComplete(part: Buffer): void {
    switch (this.#state) {
      case 'prelude':
        return this.#open(part.readUInt32BE(0), part.readUInt32BE(4))
      case 'headers':
        return this.#enter('payload', this.#payload)
      case 'payload':
        this.#frames++
        this.#read(part)
        return this.#enter('checksum', CHECKSUM_BYTES)
      case 'checksum':
        return this.#enter('prelude', PRELUDE_BYTES)
    }
  }

  #open(all: number, headers: number): void {
    this.#payload = all - headers - PRELUDE_BYTES - CHECKSUM_BYTES
    const isFrame = this.#payload >= 0 && all <= MAX_FRAME_BYTES
    this.#enter(isFrame ? 'headers' : 'broken', headers)
  }

  #enter(state: FrameWatchState, bytes: number): void {
    this.#state = state
    this.#left = bytes
  }

  #read(payload: Buffer): void {
    const text = payload.latin1Slice()
    const [, wrapped] = WRAPPED.exec(text) ?? []
    if (wrapped === undefined) return extractUsage(this.#findings, payload, text)
    const inner = Buffer.from(wrapped, 'base64')
    extractUsage(this.#findings, inner, inner.latin1Slice())
  }
}
