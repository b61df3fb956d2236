// The lines that were logged last, for a page that is opened when something has gone wrong already.

import { formatLogFilter } from '../../core/log-filter.ts'
import { LOG_MODULES } from '../../core/log.ts'
import type { Log, LogValue, LogRecord } from '../../core/log.ts'
import type { LogLine, LogsView } from './page-api-types.ts'

export const MAX_RECENT_LINES = 500
/** Characters of all of them together; the oldest go first. */
export const MAX_RECENT_TEXT = 524_288
/** Of one value. */
export const MAX_LINE_VALUE = 2_000
/** Lines that are given memory of their own at a time. */
const MAX_COPIED = 100

export class RecentLogLines {
  readonly #log: Log
  /** By number, as many as fit. */
  readonly #ring: (LogRecord | undefined)[] = Array.from({ length: MAX_RECENT_LINES })
  readonly #weights = new Uint32Array(MAX_RECENT_LINES)
  #first = 1
  #last = 0
  #text = 0
  /** The last whose texts are its own. */
  #lastCopied = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** How many there were. */
  get count(): number {
    return this.#last
  }

  start(): void {
    this.#log.tap = (line) => this.#keep(line)
  }

  /** What was kept is let go of; the next line has the next number. */
  stop(): void {
    this.#log.tap = null
    while (this.#first <= this.#last) this.#drop()
  }

  /** Those behind a number, and whether some of them are gone already. */
  logs(after: number): LogsView {
    // Numbers of another process are higher than any of ours.
    const from = after > this.#last ? 1 : after + 1
    return {
      filter: formatLogFilter(this.#log.filter),
      modules: LOG_MODULES,
      lines: this.from(from),
      isCut: from < this.#first,
    }
  }

  /** Those from a number on that are still there. */
  from(number: number): LogLine[] {
    const lines: LogLine[] = []
    for (let at = Math.max(number, this.#first); at <= this.#last; at++)
      lines.push(toLogLine(at, this.#ring[at % MAX_RECENT_LINES]!))
    return lines
  }

  /**
   * Gives the texts of new lines memory of their own. A path is a part of its request's head, all of which it would keep
   * alive. Where more lines come than this looks at they do not stay for long.
   */
  copyTexts(): void {
    const from = Math.max(this.#lastCopied + 1, this.#first)
    this.#lastCopied = Math.min(this.#last, from + MAX_COPIED - 1)
    for (let at = from; at <= this.#lastCopied; at++) {
      const line = this.#ring[at % MAX_RECENT_LINES]!
      this.#ring[at % MAX_RECENT_LINES] = { ...line, ...copyLineTexts(line) }
    }
  }

  #keep(line: LogRecord): void {
    let weight = weightOf(line)
    let kept = line
    if (weight > MAX_LINE_VALUE) {
      kept = { ...line, message: cutAndCopy(line.message), fields: line.fields.map(cutLineValue) }
      weight = weightOf(kept)
    }
    if (this.#last - this.#first + 1 === MAX_RECENT_LINES) this.#drop()
    const at = ++this.#last % MAX_RECENT_LINES
    this.#ring[at] = kept
    this.#weights[at] = weight
    this.#text += weight
    while (this.#text > MAX_RECENT_TEXT) this.#drop()
  }

  #drop(): void {
    const at = this.#first++ % MAX_RECENT_LINES
    this.#text -= this.#weights[at]!
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
  // What is undefined comes back as null.
  const [first, ...others] = JSON.parse(JSON.stringify([message, ...fields])) as [
    string,
    ...LogValue[],
  ]
  return { message: first, fields: others }
}

function cutLineValue(value: LogValue): LogValue {
  return typeof value === 'string' ? cutAndCopy(value) : value
}

/** The rest is let go of: a part of a text holds all of it. */
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
