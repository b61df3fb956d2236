// Watches a response in Amazon's event stream framing: each frame has a prelude with lengths, headers, and a JSON payload, which
// may contain another JSON object as base64. Checksums are not verified.

import { ByteBuffer } from '../../../text/byte-buffer.ts'
import type { Outcome } from '../../../core/types.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import type { ResponseDialect } from './usage-dialects.ts'
import { extractUsage, guessEventTokens, TextSize, UsageFindings } from './extract-usage.ts'
import type { ResponseWatch } from './response-watch.ts'

/** A longer payload is not read. */
export const MAX_WATCHED_PAYLOAD_BYTES = 65_536

/** The length of the frame, the length of the headers and a checksum; another checksum follows the payload. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** The limit of the framing's specification. */
const MAX_FRAME_BYTES = 25_165_824

/** The response of a model in its own dialect, as base64. */
const WRAPPED = /"bytes"\s*:\s*"([A-Za-z0-9+/=]+)"/

/** `broken`: the bytes are not in this framing. */
type FrameWatchState = 'prelude' | 'headers' | 'payload' | 'checksum' | 'broken'

export class FrameWatch implements ResponseWatch {
  readonly #findings: UsageFindings
  readonly #now: () => number
  readonly #buffer = new ByteBuffer()
  #state: FrameWatchState = 'prelude'
  /** Bytes of the current part that have not arrived. */
  #remaining = PRELUDE_BYTES
  #payloadBytes = 0
  #frames = 0
  /** Of the payloads, decoded where they wrap another object. */
  readonly #size = new TextSize()
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#findings = new UsageFindings(dialect)
    this.#now = now
  }

  get observed(): ObservedUsage {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = guessEventTokens(this.#frames, this.#size.bytes)
    return this.#findings.toObservedUsage({ outputGuess, firstAt, lastAt })
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
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
    const end = Math.min(to, from + this.#remaining)
    const isRead = this.#state === 'payload' && this.#payloadBytes <= MAX_WATCHED_PAYLOAD_BYTES
    if (isRead || this.#state === 'prelude') this.#buffer.append(bytes, from, end)
    else if (this.#state === 'payload') this.#size.add(bytes, from, end)
    this.#remaining -= end - from
    // Headers and payload may be empty.
    while (this.#remaining === 0 && this.#state !== 'broken')
      this.#partComplete(this.#buffer.take())
    return end
  }

  #partComplete(part: Buffer): void {
    switch (this.#state) {
      case 'prelude':
        return this.#startFrame(part.readUInt32BE(0), part.readUInt32BE(4))
      case 'headers':
        return this.#enter('payload', this.#payloadBytes)
      case 'payload':
        this.#frames++
        this.#readPayload(part)
        return this.#enter('checksum', CHECKSUM_BYTES)
      case 'checksum':
        return this.#enter('prelude', PRELUDE_BYTES)
    }
  }

  #startFrame(frameBytes: number, headerBytes: number): void {
    this.#payloadBytes = frameBytes - headerBytes - PRELUDE_BYTES - CHECKSUM_BYTES
    const isFrame = this.#payloadBytes >= 0 && frameBytes <= MAX_FRAME_BYTES
    this.#enter(isFrame ? 'headers' : 'broken', headerBytes)
  }

  #enter(state: FrameWatchState, bytes: number): void {
    this.#state = state
    this.#remaining = bytes
  }

  #readPayload(payload: Buffer): void {
    const text = payload.latin1Slice()
    const [, wrapped] = WRAPPED.exec(text) ?? []
    if (wrapped === undefined) return this.#readObject(payload, text)
    const inner = Buffer.from(wrapped, 'base64')
    this.#readObject(inner, inner.latin1Slice())
  }

  #readObject(data: Buffer, text: string): void {
    this.#size.add(data, 0, data.length)
    extractUsage(this.#findings, data, text)
  }
}
