// The latest events of a session, so that a client whose connection broke can have them again (Last-Event-ID).

import { MAX_HISTORY_BYTES, MAX_HISTORY_EVENTS } from '../bounds.ts'

interface Past {
  readonly channel: number
  readonly order: number
  readonly event: Buffer
}

export class History {
  readonly #past: Past[] = []
  #bytes = 0

  /** One that is larger than all of it is not kept. */
  add(channel: number, order: number, event: Buffer): void {
    if (event.length > MAX_HISTORY_BYTES) return
    this.#past.push({ channel, order, event })
    this.#bytes += event.length
    while (this.#isFull) this.#bytes -= this.#past.shift()!.event.length
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
