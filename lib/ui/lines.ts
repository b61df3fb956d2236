// The lines that were logged last, for a page that is opened when something has gone wrong already.

import { filterText } from '../base/config/log-filter.ts'
import { MODULES } from '../base/log/log.ts'
import type { Log, Value, WrittenLine } from '../base/log/log.ts'
import type { LogLine, Logs } from './api.ts'

export const MAX_LINES = 500
/** Characters of all of them together; the oldest go first. */
export const MAX_TEXT = 524_288
/** Of one value. */
export const MAX_VALUE = 2_000
/** Lines that are given memory of their own at a time. */
const MAX_SETTLED = 100

export class Lines {
  readonly #log: Log
  /** By number, as many as fit. */
  readonly #ring: (WrittenLine | undefined)[] = Array.from({ length: MAX_LINES })
  readonly #weights = new Uint32Array(MAX_LINES)
  #first = 1
  #last = 0
  #text = 0
  /** The last whose texts are its own. */
  #owned = 0

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
  logs(after: number): Logs {
    // Numbers of another process are higher than any of ours.
    const from = after > this.#last ? 1 : after + 1
    return {
      filter: filterText(this.#log.filter),
      modules: MODULES,
      lines: this.from(from),
      isCut: from < this.#first,
    }
  }

  /** Those from a number on that are still there. */
  from(number: number): LogLine[] {
    const lines: LogLine[] = []
    for (let at = Math.max(number, this.#first); at <= this.#last; at++)
      lines.push(shown(at, this.#ring[at % MAX_LINES]!))
    return lines
  }

  /**
   * Gives the texts of new lines memory of their own. A path is a part of its request's head, all of which it would keep
   * alive. Where more lines come than this looks at they do not stay for long.
   */
  settle(): void {
    const from = Math.max(this.#owned + 1, this.#first)
    this.#owned = Math.min(this.#last, from + MAX_SETTLED - 1)
    for (let at = from; at <= this.#owned; at++) {
      const line = this.#ring[at % MAX_LINES]!
      this.#ring[at % MAX_LINES] = { ...line, ...owned(line) }
    }
  }

  #keep(line: WrittenLine): void {
    let weight = weightOf(line)
    let kept = line
    if (weight > MAX_VALUE) {
      kept = { ...line, message: cut(line.message), fields: line.fields.map(cutValue) }
      weight = weightOf(kept)
    }
    if (this.#last - this.#first + 1 === MAX_LINES) this.#drop()
    const at = ++this.#last % MAX_LINES
    this.#ring[at] = kept
    this.#weights[at] = weight
    this.#text += weight
    while (this.#text > MAX_TEXT) this.#drop()
  }

  #drop(): void {
    const at = this.#first++ % MAX_LINES
    this.#text -= this.#weights[at]!
    this.#ring[at] = undefined
  }
}

function weightOf({ message, fields }: WrittenLine): number {
  let weight = message.length
  for (let at = 1; at < fields.length; at += 2) {
    const value = fields[at]
    if (typeof value === 'string') weight += value.length
  }
  return weight
}

function owned({ message, fields }: WrittenLine): Pick<WrittenLine, 'message' | 'fields'> {
  // What is undefined comes back as null.
  const [first, ...others] = JSON.parse(JSON.stringify([message, ...fields])) as [
    string,
    ...Value[],
  ]
  return { message: first, fields: others }
}

function cutValue(value: Value): Value {
  return typeof value === 'string' ? cut(value) : value
}

/** The rest is let go of: a part of a text holds all of it. */
function cut(text: string): string {
  if (text.length <= MAX_VALUE) return text
  return `${Buffer.from(text.slice(0, MAX_VALUE)).toString()}…`
}

function shown(number: number, { at, level, module, message, fields }: WrittenLine): LogLine {
  const pairs: [string, string | number | boolean][] = []
  for (let index = 0; index < fields.length; index += 2) {
    const value = fields[index + 1] ?? null
    if (value !== null) pairs.push([String(fields[index]), value])
  }
  return { number, at, level, module, message, fields: pairs }
}
