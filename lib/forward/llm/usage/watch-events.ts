// Watches an event stream. Chunks without a marker are only counted; the others go through an event reader, which parses only
// the events with a marker.

import type { Outcome } from '../../../core/types.ts'
import { EventReader } from '../../../text/sse-reader.ts'
import type { ObservedUsage } from '../llm-call-types.ts'
import {
  containsMarker,
  extractUsage,
  guessEventTokens,
  TextSize,
  UsageFindings,
} from './extract-usage.ts'
import { MemberReader } from './member-reader.ts'
import type { ResponseWatch } from './response-watch.ts'
import type { ResponseDialect } from './usage-dialects.ts'

/** The data of one event; of a longer one only the watched members are kept. */
export const MAX_WATCHED_EVENT_BYTES = 65_536

const COLON = 58
const BLANK_LINE = Buffer.from('\n\n')
const DONE_DATA = '[DONE]'

export class EventWatch implements ResponseWatch {
  readonly #findings: UsageFindings
  readonly #reader: EventReader
  readonly #now: () => number
  #events = 0
  readonly #size = new TextSize()
  /** Reads the current event if it is long. */
  #longEvent: MemberReader | null = null
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#findings = new UsageFindings(dialect)
    this.#now = now
    const owner = {
      event: (name: string, data: Buffer) => this.#event(name, data),
      retry: () => {},
      tooLong: (name: string) => this.#startLongEvent(name),
      longData: (bytes: Buffer, from: number, to: number) =>
        this.#longEvent?.write(bytes, from, to),
      longEnd: () => this.#endLongEvent(),
    }
    this.#reader = new EventReader(owner, MAX_WATCHED_EVENT_BYTES, 'skip')
  }

  get observed(): ObservedUsage {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = guessEventTokens(this.#events, this.#size.bytes)
    return this.#findings.toObservedUsage({ outputGuess, firstAt, lastAt })
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#lastAt = this.#now()
    this.#size.add(bytes, from, to)
    if (!this.#isIrrelevant(bytes, from, to)) this.#reader.write(bytes, from, to)
  }

  end(outcome: Outcome): void {
    // Many clients accept a last event without its blank line.
    this.#reader.write(BLANK_LINE, 0, BLANK_LINE.length)
    this.#findings.finish(outcome, 'open')
  }

  whenDone(callback: () => void): void {
    callback()
  }

  /** Counts complete events without a marker. Comments go to the reader: they are no events and no first token. */
  #isIrrelevant(bytes: Buffer, from: number, to: number): boolean {
    if (this.#firstAt === 0 || !this.#reader.isBetweenEvents || bytes[from] === COLON) return false
    const blank = detectBlankLineEnd(bytes, from, to)
    if (blank === '') return false
    const text = bytes.latin1Slice(from, to)
    if (containsMarker(text, this.#findings.markers)) return false
    this.#events += countEvents(text, blank)
    return true
  }

  #event(name: string, data: Buffer): void {
    const text = data.latin1Slice(0, data.length)
    if (text.startsWith(DONE_DATA)) return this.#findings.readEnding(DONE_DATA)
    this.#countEvent(name)
    extractUsage(this.#findings, data, text)
  }

  #startLongEvent(name: string): void {
    this.#countEvent(name)
    this.#longEvent = new MemberReader(this.#findings.memberTree)
  }

  #endLongEvent(): void {
    this.#findings.readEvent(this.#longEvent?.end())
    this.#longEvent = null
  }

  #countEvent(name: string): void {
    if (this.#firstAt === 0) this.#firstAt = this.#lastAt
    this.#events++
    if (name !== '') this.#findings.readEnding(name)
  }
}

function countEvents(text: string, blank: string): number {
  let count = 0
  for (let at = 0; at >= 0 && at < text.length; count++) {
    const next = text.indexOf(blank, at)
    at = next < 0 ? next : next + blank.length
  }
  return count
}

const LF = 10
const CR = 13

/** The blank line at the end of the bytes, which ends an event; '' if there is none or its line ends differ. */
export function detectBlankLineEnd(
  bytes: Buffer,
  from: number,
  to: number,
): '\n\n' | '\r\n\r\n' | '\r\r' | '' {
  if (to - from < 4) return ''
  const [last, before] = [bytes[to - 1], bytes[to - 2]]
  if (last === LF && before === LF) return '\n\n'
  if (last === CR && before === CR) return '\r\r'
  const isCrlf = last === LF && before === CR && bytes[to - 3] === LF && bytes[to - 4] === CR
  return isCrlf ? '\r\n\r\n' : ''
}
