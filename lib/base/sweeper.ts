// Deadlines without a timer each: members carry a time, and one interval looks at all of them. Setting a
// deadline is then an assignment, which the hot path does several times a request.

export interface Swept {
  /** Milliseconds on the clock of `performance.now()`; 0 means none. */
  deadline: number
  /** Called once when the deadline has passed; sets a new one or leaves it at 0. */
  expired(now: number): void
}

/** Sweeps come four times within the shortest deadline, in this range. */
const MIN_INTERVAL = 10
const MAX_INTERVAL = 1_000

export class Sweeper<T extends Swept> {
  readonly members = new Set<T>()
  #timer: NodeJS.Timeout | null = null
  readonly #interval: number

  constructor(shortest: number) {
    this.#interval = Math.min(MAX_INTERVAL, Math.max(MIN_INTERVAL, shortest / 4))
  }

  add(member: T): void {
    this.members.add(member)
    this.#timer ??= setInterval(() => this.#sweep(), this.#interval).unref()
  }

  delete(member: T): void {
    this.members.delete(member)
    if (this.members.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #sweep(): void {
    const now = performance.now()
    for (const member of this.members) {
      if (member.deadline === 0 || member.deadline > now) continue
      member.deadline = 0
      member.expired(now)
    }
  }
}
