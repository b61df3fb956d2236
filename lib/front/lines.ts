// Lines that workers logged, taken over into what this process remembers of its own.

import type { Log, WrittenLine } from '../base/log/log.ts'
import type { LogLine } from '../ui/api.ts'
import type { WorkerFacts } from './worker-facts.ts'

type Told = NonNullable<WorkerFacts['logs']>

/** What is known of one worker's lines. */
export class WorkerLines {
  readonly #slot: number
  #last = 0

  constructor(slot: number) {
    this.#slot = slot
  }

  /** The number of the last that was taken. */
  get last(): number {
    return this.#last
  }

  /** Those that are new, and a line that says how many are lost. */
  take({ lines }: Told): WrittenLine[] {
    const fresh = lines.filter(({ number }) => number > this.#last)
    const [first] = fresh
    if (first === undefined) return []
    // What was before the first look nobody misses.
    const missed = this.#last === 0 ? 0 : first.number - this.#last - 1
    this.#last = fresh.at(-1)!.number
    const taken = fresh.map((line) => this.#written(line))
    // Behind them, as the oldest go first.
    return missed === 0 ? taken : [...taken, this.#gap(fresh.at(-1)!.at, missed)]
  }

  #written({ at, level, module, message, fields }: LogLine): WrittenLine {
    const own = fields.filter(([name]) => name !== 'worker').flat()
    // A module of a worker is one of ours: they run the same code.
    return {
      at,
      level,
      module: module as WrittenLine['module'],
      message,
      fields: this.#marked(own),
    }
  }

  #gap(at: number, missed: number): WrittenLine {
    const message = 'more was logged than is shown here'
    return { at, level: 'info', module: 'log', message, fields: this.#marked(['lines', missed]) }
  }

  #marked(fields: WrittenLine['fields']): WrittenLine['fields'] {
    return [...fields, 'worker', this.#slot]
  }
}

/** By time, as far as they came together. */
export function tellLines(log: Log, lines: readonly WrittenLine[]): void {
  for (const line of lines.toSorted((one, other) => one.at - other.at)) log.tap?.(line)
}
