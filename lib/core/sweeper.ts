// Deadlines without a timer each: one interval asks every member whether its deadline has passed. Setting a deadline is
// then an assignment, which the hot path does several times per request.

export interface Sweepable {
  /** `now` is on the clock of `performance.now()`. */
  sweep(now: number): void
}

/** A coarse clock: at most one sweep late, and cheap to read. */
export interface CoarseClock {
  readonly now: number
}

/** Sweeps run four times within the shortest deadline, within these bounds (ms). */
const MIN_INTERVAL = 10
const MAX_INTERVAL = 1_000

export class Sweeper<T extends Sweepable> implements CoarseClock {
  readonly members = new Set<T>()
  #interval: number
  #now = 0
  #timer: NodeJS.Timeout | null = null
  #whenEmpty: (() => void) | null = null

  constructor(shortest: number) {
    this.#interval = intervalFor(shortest)
  }

  /** Changes the interval to what this deadline needs. */
  setShortestDeadline(shortest: number): void {
    const interval = intervalFor(shortest)
    if (interval === this.#interval) return
    this.#interval = interval
    if (this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = setInterval(() => this.#sweep(), interval).unref()
  }

  add(member: T): void {
    this.members.add(member)
    if (this.#timer !== null) return
    // The clock does not advance while there are no members.
    this.#tick()
    this.#timer = setInterval(() => this.#sweep(), this.#interval).unref()
  }

  delete(member: T): void {
    this.members.delete(member)
    if (this.members.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
    this.#whenEmpty?.()
  }

  /** Resolves when the last member has left. */
  async whenEmpty(): Promise<void> {
    if (this.members.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve))
  }

  /** One interval ahead, so that a deadline set from it never passes early. */
  get now(): number {
    if (this.#timer === null) this.#tick()
    return this.#now
  }

  #sweep(): void {
    this.#tick()
    const now = this.#now - this.#interval
    // After a stall of the process, everything that peers sent up to `now` is read before their silence is judged.
    setImmediate(() => {
      for (const member of this.members) member.sweep(now)
    })
  }

  #tick(): void {
    this.#now = performance.now() + this.#interval
  }
}

function intervalFor(shortest: number): number {
  return Math.min(MAX_INTERVAL, Math.max(MIN_INTERVAL, shortest / 4))
}
