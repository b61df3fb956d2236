// The last log lines in memory, for a page that is opened after something has gone wrong.

import { formatLogFilter } from '../../core/log-filter.ts'
import { LOG_MODULES } from '../../core/log.ts'
import type { Log, LogValue, LogRecord } from '../../core/log.ts'
import type { LogLine, LogsView } from './page-api-types.ts'

export const MAX_RECENT_LINES = 500
/** Characters of all lines together; the oldest are dropped first. */
export const MAX_RECENT_TEXT = 524_288
/** Characters of one value. */
export const MAX_LINE_VALUE = 2_000
/** Lines per call of `copyTexts`. */
const MAX_COPIED = 100

export class RecentLogLines {
  readonly #log: Log
  /** A ring buffer, indexed by line number. */
  readonly #ring: (LogRecord | undefined)[] = Array.from({ length: MAX_RECENT_LINES })
  readonly #weights = new Uint32Array(MAX_RECENT_LINES)
  #first = 1
  #last = 0
  #textLength = 0
  /** The last line whose texts were copied. */
  #lastCopied = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** The number of lines so far. */
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
  logs(after: number): LogsView {
    // A number higher than ours is from another process.
    const from = after > this.#last ? 1 : after + 1
    return {
      filter: formatLogFilter(this.#log.filter),
      modules: LOG_MODULES,
      lines: this.from(from),
      isCut: from < this.#first,
    }
  }

  /** The lines from a number on that are still kept. */
  from(number: number): LogLine[] {
    const lines: LogLine[] = []
    for (let at = Math.max(number, this.#first); at <= this.#last; at++)
      lines.push(toLogLine(at, this.#ring[at % MAX_RECENT_LINES]!))
    return lines
  }

  /**
   * Copies the texts of new lines: a path is a slice of its request's head, and would keep all of it in memory. Lines beyond
   * MAX_COPIED per call are not copied, but at such a rate they are dropped soon.
   */
  copyTexts(): void {
    const from = Math.max(this.#lastCopied + 1, this.#first)
    this.#lastCopied = Math.min(this.#last, from + MAX_COPIED - 1)
    for (let at = from; at <= this.#lastCopied; at++) {
      const line = this.#ring[at % MAX_RECENT_LINES]!
      this.#ring[at % MAX_RECENT_LINES] = { ...line, ...copyLineTexts(line) }
    }
  }

  #add(line: LogRecord): void {
    let weight = weightOf(line)
    let kept = line
    if (weight > MAX_LINE_VALUE) {
      kept = { ...line, message: cutAndCopy(line.message), fields: line.fields.map(cutLineValue) }
      weight = weightOf(kept)
    }
    if (this.#last - this.#first + 1 === MAX_RECENT_LINES) this.#dropOldest()
    const at = ++this.#last % MAX_RECENT_LINES
    this.#ring[at] = kept
    this.#weights[at] = weight
    this.#textLength += weight
    while (this.#textLength > MAX_RECENT_TEXT) this.#dropOldest()
  }

  #dropOldest(): void {
    const at = this.#first++ % MAX_RECENT_LINES
    this.#textLength -= this.#weights[at]!
    this.#ring[at] = undefined
  }
}

function weightOf({ message, fields }: LogRecord): number {
  let weight = message.length
  for (let at = 1; at < fields.length; at += 2) {
    const value = fields[at]
    if (typeof value === 'string') weight += value.length
  }
  return weight
}

function copyLineTexts({ message, fields }: LogRecord): Pick<LogRecord, 'message' | 'fields'> {
  // JSON turns undefined into null.
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
  if (text.length <= MAX_LINE_VALUE) return text
  return `${Buffer.from(text.slice(0, MAX_LINE_VALUE)).toString()}…`
}

function toLogLine(number: number, { at, level, module, message, fields }: LogRecord): LogLine {
  const pairs: [string, string | number | boolean][] = []
  for (let index = 0; index < fields.length; index += 2) {
    const value = fields[index + 1] ?? null
    if (value !== null) pairs.push([String(fields[index]), value])
  }
  return { number, at, level, module, message, fields: pairs }
}
