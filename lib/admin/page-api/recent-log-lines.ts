// Keeps the last log lines in memory, so that the page can show what was logged before it was opened.

import { formatLogFilter } from '../../core/log-filter.ts'
import { LOG_MODULES } from '../../core/log.ts'
import type { Log, LogValue, LogRecord } from '../../core/log.ts'
import type { LogLine, LogsView } from './page-api-types.ts'

export const MAX_RECENT_LINES = 500
/** Characters of all lines together; the oldest are dropped first. */
export const MAX_RECENT_CHARS = 524_288
/** Characters of one value. */
export const MAX_LOG_VALUE_CHARS = 2_000
/** In one call of `copyTexts`. */
const MAX_COPIED_LINES = 100

export class RecentLogLines {
  readonly #log: Log
  /** A ring buffer, indexed by line number. */
  readonly #ring: (LogRecord | undefined)[] = Array.from({ length: MAX_RECENT_LINES })
  readonly #lineLengths = new Uint32Array(MAX_RECENT_LINES)
  #first = 1
  #last = 0
  #textLength = 0
  /** The last line whose texts were copied. */
  #lastCopied = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** Lines since the start, also those dropped; equals the number of the last line. */
  get count(): number {
    return this.#last
  }

  start(): void {
    this.#log.tap = (line) => this.#add(line)
  }

  /** Drops all lines; numbers continue. */
  stop(): void {
    this.#log.tap = null
    while (this.#first <= this.#last) this.#dropOldest()
  }

  /** The lines after a number, and whether some of them were dropped. */
  viewAfter(after: number): LogsView {
    // A number higher than ours is from another process.
    const from = after > this.#last ? 1 : after + 1
    return {
      filter: formatLogFilter(this.#log.filter),
      modules: LOG_MODULES,
      lines: this.linesFrom(from),
      isCut: from < this.#first,
    }
  }

  /** The lines from a number on that are still kept. */
  linesFrom(number: number): LogLine[] {
    const lines: LogLine[] = []
    for (let at = Math.max(number, this.#first); at <= this.#last; at++)
      lines.push(toLogLine(at, this.#ring[at % MAX_RECENT_LINES]!))
    return lines
  }

  /**
   * Copies the texts of new lines: a path is a slice of its request's head, and would keep all of it in memory. Lines above
   * MAX_COPIED_LINES are copied by later calls.
   */
  copyTexts(): void {
    const from = Math.max(this.#lastCopied + 1, this.#first)
    this.#lastCopied = Math.min(this.#last, from + MAX_COPIED_LINES - 1)
    for (let at = from; at <= this.#lastCopied; at++) {
      const line = this.#ring[at % MAX_RECENT_LINES]!
      this.#ring[at % MAX_RECENT_LINES] = { ...line, ...copyLineTexts(line) }
    }
  }

  #add(line: LogRecord): void {
    let length = textLengthOf(line)
    let kept = line
    if (length > MAX_LOG_VALUE_CHARS) {
      kept = { ...line, message: cutAndCopy(line.message), fields: line.fields.map(cutLineValue) }
      length = textLengthOf(kept)
    }
    if (this.#last - this.#first + 1 === MAX_RECENT_LINES) this.#dropOldest()
    const at = ++this.#last % MAX_RECENT_LINES
    this.#ring[at] = kept
    this.#lineLengths[at] = length
    this.#textLength += length
    while (this.#textLength > MAX_RECENT_CHARS) this.#dropOldest()
  }

  #dropOldest(): void {
    const at = this.#first++ % MAX_RECENT_LINES
    this.#textLength -= this.#lineLengths[at]!
    this.#ring[at] = undefined
  }
}

function textLengthOf({ message, fields }: LogRecord): number {
  let length = message.length
  for (let at = 1; at < fields.length; at += 2) {
    const value = fields[at]
    if (typeof value === 'string') length += value.length
  }
  return length
}

function copyLineTexts({ message, fields }: LogRecord): Pick<LogRecord, 'message' | 'fields'> {
  // A JSON round trip makes flat copies of the strings; undefined becomes null.
  const [first, ...others] = JSON.parse(JSON.stringify([message, ...fields])) as [
    string,
    ...LogValue[],
  ]
  return { message: first, fields: others }
}

function cutLineValue(value: LogValue): LogValue {
  return typeof value === 'string' ? cutAndCopy(value) : value
}

/** Copied, because a slice keeps the whole text in memory. */
function cutAndCopy(text: string): string {
  if (text.length <= MAX_LOG_VALUE_CHARS) return text
  return `${Buffer.from(text.slice(0, MAX_LOG_VALUE_CHARS)).toString()}…`
}

function toLogLine(number: number, { at, level, module, message, fields }: LogRecord): LogLine {
  const pairs: [string, string | number | boolean][] = []
  for (let index = 0; index < fields.length; index += 2) {
    const value = fields[index + 1] ?? null
    if (value !== null) pairs.push([String(fields[index]), value])
  }
  return { number, at, level, module, message, fields: pairs }
}
