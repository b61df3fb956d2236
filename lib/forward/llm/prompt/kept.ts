// Bytes of a request kept in memory, charged to what all requests may keep together. The room they lie in grows by doubling:
// while a body comes in pieces it may be twice as large as what is charged.

import type { Budget } from '../../../base/bounds/budget.ts'
import { Pile } from '../../../base/pile.ts'

export class Kept {
  readonly #together: Budget
  readonly #pile = new Pile()
  /** What was put together already. */
  #parts: Buffer[] = []
  #length = 0

  constructor(together: Budget) {
    this.#together = together
  }

  /** Of all requests together. */
  get most(): number {
    return this.#together.most
  }

  get length(): number {
    return this.#length
  }

  /** False when all requests keep too much; nothing was added then. */
  add(bytes: Buffer, from: number, to: number): boolean {
    if (!this.#together.take(to - from)) return false
    this.#length += to - from
    this.#pile.add(bytes, from, to)
    return true
  }

  /** All of it, in few pieces: one more each time that this is called with something new. They are not to be changed. */
  pieces(): readonly Buffer[] {
    if (this.#pile.length > 0) this.#parts.push(this.#pile.take())
    return this.#parts
  }

  drop(): void {
    this.#together.give(this.#length)
    this.#length = 0
    this.#parts = []
    this.#pile.take()
  }
}
