// Things that go wrong again and again: the first few are told one by one, the others by their number.

import type { Log, Value } from '../../../base/log/log.ts'

/** How many of a kind are told one by one. */
const MOST_TOLD = 10

export class Tally {
  readonly #log: Log
  readonly #message: string
  readonly #whose: readonly Value[]
  #count = 0

  constructor(log: Log, message: string, whose: readonly Value[]) {
    this.#log = log
    this.#message = message
    this.#whose = whose
  }

  add(fields: readonly Value[]): void {
    if (++this.#count > MOST_TOLD) return
    const last = this.#count === MOST_TOLD ? ['more', 'counted until the end'] : []
    this.#log.line('warn', 'mcp', this.#message, [...this.#whose, ...fields, ...last])
  }

  /** All is over: those that were not told. */
  end(): void {
    const untold = this.#count - MOST_TOLD
    if (untold > 0) this.#log.line('warn', 'mcp', this.#message, [...this.#whose, 'untold', untold])
  }
}
