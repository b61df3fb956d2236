// Selects the watch that reads usage from a response, by the content-type and content-encoding of its head.

import type { ResponseHead } from '../../../core/head.ts'
import type { Outcome, Tap } from '../../../core/types.ts'
import type { LlmFormat, ObservedUsage } from '../llm-call-types.ts'
import { essenceOf, isJsonType } from '../llm-formats.ts'
import { guessTokens, UsageFindings } from './extract-usage.ts'
import { parseHeaderUsage } from './raw-usage.ts'
import { responseDialectOf } from './usage-dialects.ts'
import type { ResponseDialect } from './usage-dialects.ts'
import { CompressedWatch, contentCodingOf, decoderFor } from './watch-compressed.ts'
import { EventWatch } from './watch-events.ts'
import { FrameWatch } from './watch-frames.ts'
import { JsonWatch } from './watch-json.ts'

export interface ResponseWatch extends Tap {
  /** What was read so far; final once `whenDone` has called back. */
  readonly observed: ObservedUsage
  /** To be called after `end`: calls back when all bytes are read or the watch has given up, which may be at once. */
  whenDone(callback: () => void): void
}

/** Types whose bytes are not text. */
const MEDIA_TYPE = /^(?:image|audio|video|font)\//

const clock = (): number => performance.now()

type ResponseWatchClass = new (dialect: ResponseDialect, now: () => number) => ResponseWatch

/** `now` is `performance.now()` or a test clock. */
export function createResponseWatch(
  format: LlmFormat,
  head: ResponseHead,
  now: () => number = clock,
): ResponseWatch {
  const dialect = withHeaderUsage(responseDialectOf(format), head)
  const essence = essenceOf(head.get('content-type') ?? '')
  const WatchClass = selectWatchClass(essence, dialect)
  const unread = MEDIA_TYPE.test(essence) ? 'other' : dialect.unread
  if (WatchClass === null) return new UnreadWatch(dialect, now, unread)
  const coding = contentCodingOf(head)
  if (coding === 'identity') return new WatchClass(dialect, now)
  const decoder = decoderFor(coding)
  if (decoder === null) return new UnreadWatch(dialect, now, unread)
  return new CompressedWatch(new WatchClass(dialect, now), decoder)
}

function withHeaderUsage(dialect: ResponseDialect, head: ResponseHead): ResponseDialect {
  const headerUsage = dialect.rootUsage === 'read' ? parseHeaderUsage(head) : null
  return headerUsage === null ? dialect : { ...dialect, headerUsage }
}

/** Types of responses with one JSON object on each line, as Ollama streams. */
const JSON_LINES_TYPE = /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines)$/

/** null for a type that no watch can read. */
function selectWatchClass(
  essence: string,
  { content }: ResponseDialect,
): ResponseWatchClass | null {
  if (essence === 'text/event-stream') return EventWatch
  if (essence === 'application/vnd.amazon.eventstream') return FrameWatch
  if (isJsonType(essence) || JSON_LINES_TYPE.test(essence)) return SniffedWatch
  return isUnspecificType(essence) && content === 'text' ? SniffedWatch : null
}

/** LLM clients ignore the content-type, so a response with one of these may be events or JSON. */
export function isUnspecificType(essence: string): boolean {
  return essence === '' || essence === 'text/plain'
}

const LAST_SPACE = 32
const LAST_ASCII = 127
const OPEN_BRACKET = 91
const OPEN_BRACE = 123

/** Watches a response whose content-type is missing or unreliable: the first byte tells JSON from events. */
class SniffedWatch implements ResponseWatch {
  readonly #dialect: ResponseDialect
  readonly #now: () => number
  #watch: ResponseWatch
  #state: 'unknown' | 'known' = 'unknown'

  constructor(dialect: ResponseDialect, now: () => number) {
    this.#dialect = dialect
    this.#now = now
    // For a response that ends before its first byte.
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

/** Counts only the bytes of a response that cannot be read: an unknown coding, images, audio. */
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
