// Deadlines without a timer each: one interval asks every member whether its time has come. Setting a
// deadline is then an assignment, which the hot path does several times a request.

export interface Swept {
  /** `now` is on the clock of `performance.now()`. */
  sweep(now: number): void
}

/** Sweeps come four times within the shortest deadline, in this range (ms). */
const MIN_INTERVAL = 10
const MAX_INTERVAL = 1_000

export class Sweeper<T extends Swept> {
  readonly members = new Set<T>()
  readonly #interval: number
  #timer: NodeJS.Timeout | null = null
  #whenEmpty: (() => void) | null = null

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
    this.#whenEmpty?.()
  }

  /** Resolves when the last member has left. */
  async empty(): Promise<void> {
    if (this.members.size > 0) await new Promise<void>((resolve) => (this.#whenEmpty = resolve))
  }

  #sweep(): void {
    const now = performance.now()
    for (const member of this.members) member.sweep(now)
  }
}
