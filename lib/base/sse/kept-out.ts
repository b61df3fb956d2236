// A reader of an event stream that is looked after: comments show it that the stream lives, and one that takes nothing is
// given up.

import type { EventOut } from './event-out.ts'

export interface Pace {
  /** Without an event for so long, a comment shows that the stream lives. */
  readonly keepAliveMs: number
  /** A reader that takes nothing for so long is gone. */
  readonly maxStallMs: number
}

/** What those who read may expect of every one. */
export const USUAL_PACE: Pace = { keepAliveMs: 15_000, maxStallMs: 30_000 }

/** Of what is written although the reader is full. */
export const MAX_OVERFLOW = 1_048_576

const COMMENT = ': keepalive\n\n'

export class KeptOut implements EventOut {
  readonly #out: EventOut
  readonly #pace: Pace
  readonly #timer: NodeJS.Timeout
  #acts: (() => void)[] = []
  /** `ended`: all is written, and only its close is waited for. */
  #state: 'open' | 'ended' | 'closed' = 'open'
  /** Since when the reader has taken nothing, counted by the timer. */
  #stalledMs = 0
  #overflow = 0

  constructor(out: EventOut, pace: Pace) {
    this.#out = out
    this.#pace = pace
    this.#timer = setTimeout(() => this.#look(), pace.keepAliveMs).unref()
    out.onRoom(() => this.#hasRoom())
  }

  get isFull(): boolean {
    return this.#out.isFull
  }

  write(text: string): void {
    if (this.#state !== 'open') return
    if (this.isFull) this.#overflow += text.length
    if (this.#overflow > MAX_OVERFLOW) return this.destroy()
    this.#out.write(text)
    this.#timer.refresh()
  }

  onRoom(act: () => void): void {
    this.#acts.push(act)
  }

  end(): void {
    if (this.#state !== 'open') return
    this.#state = 'ended'
    this.#stalledMs = 0
    this.#out.end()
  }

  destroy(): void {
    if (this.#state === 'closed') return
    this.close()
    this.#out.destroy()
  }

  /** The reader is gone. */
  close(): void {
    clearTimeout(this.#timer)
    this.#state = 'closed'
    this.#acts = []
  }

  #hasRoom(): void {
    this.#stalledMs = 0
    this.#overflow = 0
    for (const act of this.#acts) act()
  }

  #look(): void {
    if (this.#state === 'closed') return
    this.#timer.refresh()
    if (this.#state === 'open' && !this.isFull) {
      this.#stalledMs = 0
      return this.#out.write(COMMENT)
    }
    this.#stalledMs += this.#pace.keepAliveMs
    if (this.#stalledMs >= this.#pace.maxStallMs) this.destroy()
  }
}
