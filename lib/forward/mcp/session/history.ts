// The latest events of a session, so that a client whose connection broke can have them again (Last-Event-ID).

import type { Budget } from '../../../base/bounds/budget.ts'
import { MAX_HISTORY_BYTES, MAX_HISTORY_EVENTS } from '../bounds.ts'

interface Past {
  readonly channel: number
  readonly order: number
  readonly event: Buffer
}

export class History {
  readonly #past: Past[] = []
  /** What all sessions may keep together. */
  readonly #together: Budget
  #bytes = 0
  #state: 'open' | 'closed' = 'open'

  constructor(together: Budget) {
    this.#together = together
  }

  /** One that is larger than all of it is not kept, nor one for which other sessions leave no room. */
  add(channel: number, order: number, event: Buffer): void {
    if (event.length > MAX_HISTORY_BYTES || this.#state === 'closed') return
    while (!this.#together.take(event.length)) if (!this.#drop()) return
    this.#past.push({ channel, order, event })
    this.#bytes += event.length
    while (this.#isFull) this.#drop()
  }

  /** Nobody comes back any more. */
  close(): void {
    this.#state = 'closed'
    while (this.#drop()) continue
  }

  #drop(): boolean {
    const past = this.#past.shift()
    if (past === undefined) return false
    this.#bytes -= past.event.length
    this.#together.give(past.event.length)
    return true
  }

  /** What is left of what a channel sent behind its event of this order. */
  after(channel: number, order: number): Buffer[] {
    const past = this.#past.filter((one) => one.channel === channel && one.order > order)
    return past.map(({ event }) => event)
  }

  get #isFull(): boolean {
    return this.#bytes > MAX_HISTORY_BYTES || this.#past.length > MAX_HISTORY_EVENTS
  }
}
