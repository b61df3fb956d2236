// Picks who watches an answer: by what its head says it is made of.

import type { ResponseHead } from '../../../core/head.ts'
import type { Outcome, Tap } from '../../../core/types.ts'
import type { LlmFormat, ObservedUsage } from '../llm-call-types.ts'
import { essenceOf, isJsonType } from '../llm-formats.ts'
import { guessTokens, UsageFindings } from './extract-usage.ts'
import { responseDialectOf } from './usage-dialects.ts'
import type { ResponseDialect } from './usage-dialects.ts'
import { CompressedWatch, decoderFor } from './watch-compressed.ts'
import { EventWatch } from './watch-events.ts'
import { FrameWatch } from './watch-frames.ts'
import { JsonWatch } from './watch-json.ts'

export interface ResponseWatch extends Tap {
  /** As far as it got; final once `whenDone` has called back. */
  readonly observed: ObservedUsage
  /** Behind `end`: calls back at once if nothing is left to be read, otherwise as soon as that has been done or given up. */
  whenDone(callback: () => void): void
}

/** Nobody takes these for words. */
const MEDIA_TYPE = /^(?:image|audio|video|font)\//

const clock = (): number => performance.now()

type ResponseWatchClass = new (dialect: ResponseDialect, now: () => number) => ResponseWatch

/** The clock is that of `performance.now()`. */
export function createResponseWatch(
  format: LlmFormat,
  head: ResponseHead,
  now: () => number = clock,
): ResponseWatch {
  const dialect = responseDialectOf(format)
  const essence = essenceOf(head.get('content-type') ?? '')
  const reader = selectWatchClass(essence, dialect)
  const unread = MEDIA_TYPE.test(essence) ? 'other' : dialect.unread
  if (reader === null) return new UnreadWatch(dialect, now, unread)
  const coding = contentCodingOf(head)
  if (coding === 'identity') return new reader(dialect, now)
  const decoder = decoderFor(coding)
  if (decoder === null) return new UnreadWatch(dialect, now, unread)
  return new CompressedWatch(new reader(dialect, now), decoder)
}

/** null for what nobody here can read. */
function selectWatchClass(
  essence: string,
  { content }: ResponseDialect,
): ResponseWatchClass | null {
  if (essence === 'text/event-stream') return EventWatch
  if (essence === 'application/vnd.amazon.eventstream') return FrameWatch
  if (isJsonType(essence)) return SniffedWatch
  // Clients do not look at the type of what they asked for; where anything may be, it is taken at its word.
  const isVague = essence === '' || essence === 'text/plain'
  return isVague && content === 'text' ? SniffedWatch : null
}

/** Several codings, one upon the other, are nobody's we know. */
function contentCodingOf(head: ResponseHead): string {
  const written = head.getAll('content-encoding')
  if (written.length === 0) return 'identity'
  const codings = written.join(',').toLowerCase().split(',')
  const named = codings.map((coding) => coding.trim()).filter((coding) => coding !== '')
  return named.length > 1 ? 'several' : (named[0] ?? 'identity')
}

// Watches an answer whose type says too little, or is not to be trusted: its first byte tells JSON from events.

const LAST_SPACE = 32
const LAST_ASCII = 127
const OPEN_BRACKET = 91
const OPEN_BRACE = 123

class SniffedWatch implements ResponseWatch {
  readonly #dialect: ResponseDialect
  readonly #now: () => number
  #watch: ResponseWatch
  #state: 'unknown' | 'known' = 'unknown'

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#dialect = dialect
    this.#now = now
    // For an answer that says nothing at all.
    this.#watch = new JsonWatch(dialect, now)
  }

  get observed(): ObservedUsage {
    return this.#watch.observed
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    if (this.#state === 'unknown') this.#detectType(bytes, from, to)
    this.#watch.chunk(bytes, from, to)
  }

  end(outcome: Outcome): void {
    this.#watch.end(outcome)
  }

  whenDone(callback: () => void): void {
    this.#watch.whenDone(callback)
  }

  #detectType(bytes: Buffer, from: number, to: number): void {
    let at = from
    while (at < to && isIgnoredByte(bytes[at]!)) at++
    if (at === to) return
    this.#state = 'known'
    const isJson = bytes[at] === OPEN_BRACE || bytes[at] === OPEN_BRACKET
    if (!isJson) this.#watch = new EventWatch(this.#dialect, this.#now)
  }
}

/** White space or a byte order mark. */
function isIgnoredByte(byte: number): boolean {
  return byte <= LAST_SPACE || byte > LAST_ASCII
}

// Stands where an answer cannot be read: an unknown coding, pictures, sound. It only sees how much passes.

class UnreadWatch implements ResponseWatch {
  readonly #findings: UsageFindings
  readonly #content: ResponseDialect['unread']
  readonly #now: () => number
  #bytes = 0
  #firstAt = 0
  #lastAt = 0

  constructor(dialect: ResponseDialect, now: () => number, content: ResponseDialect['unread']) {
    this.#findings = new UsageFindings(dialect)
    this.#content = content
    this.#now = now
  }

  get observed(): ObservedUsage {
    const [firstAt, lastAt] = [this.#firstAt, this.#lastAt]
    const outputGuess = this.#content === 'text' ? guessTokens(this.#bytes) : 0
    return this.#findings.toObservedUsage({ outputGuess, firstAt, lastAt })
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
