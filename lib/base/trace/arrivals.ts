// When the parts of a body came: a list that grows coarser, not longer.

import type { Arrival } from './events.ts'

/** Above this every second one is kept, then every fourth, and so on; the last always. */
export const MAX_ARRIVALS = 1_000

const LF = 10

export class Arrivals {
  readonly #started: number
  #list: Arrival[] = []
  #step = 1
  /** How many the last one stands for. */
  #behind = 0

  /** On the clock of `performance.now()`. */
  constructor(started: number) {
    this.#started = started
  }

  /** How many of those that came one in the list stands for. */
  get step(): number {
    return this.#step
  }

  get list(): readonly Arrival[] {
    return this.#list
  }

  add(bytes: number, now: number): void {
    const arrival: Arrival = [bytes, Math.max(0, Math.round((now - this.#started) * 1000))]
    if (this.#behind > 0 && this.#behind < this.#step) {
      this.#list[this.#list.length - 1] = arrival
      this.#behind++
      return
    }
    if (this.#list.length === MAX_ARRIVALS) this.#thin()
    this.#list.push(arrival)
    this.#behind = 1
  }

  #thin(): void {
    this.#list = this.#list.filter((_arrival, at) => at % 2 === 1)
    this.#step *= 2
  }
}

/** The same in a body as it is shown, line by line: what was hidden has another length. None where lines are not the same. */
export function movedTo(shown: Buffer, kept: Buffer, list: readonly Arrival[]): Arrival[] {
  if (shown === kept) return [...list]
  const moved: Arrival[] = []
  let [from, fromShown] = [0, 0]
  let at = 0
  while (from < kept.length && fromShown < shown.length) {
    const [to, toShown] = [endOf(kept, from), endOf(shown, fromShown)]
    for (; at < list.length && list[at]![0] <= to; at++) {
      const [bytes, time] = list[at]!
      const place = bytes === to ? toShown : Math.min(fromShown + bytes - from, toShown - 1)
      moved.push([place, time])
    }
    from = to
    fromShown = toShown
  }
  if (from < kept.length || fromShown < shown.length) return []
  // What was not kept comes behind.
  for (const [bytes, time] of list.slice(at)) moved.push([bytes - kept.length + shown.length, time])
  return moved
}

/** Of the line that begins there, with its line end. */
function endOf(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(LF, from)
  return at < 0 ? bytes.length : at + 1
}
