// Work that is done one at a time.

/** Whoever works in the same turn waits for those before. */
export class Turn {
  #last: Promise<unknown> = Promise.resolve()

  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}

/** Work that is asked for time and again: however often that is before it begins, it is done once. */
export class Errand {
  readonly #turn: Turn
  readonly #work: () => Promise<void>
  #state: 'idle' | 'wanted' | 'over' = 'idle'

  constructor(turn: Turn, work: () => Promise<void>) {
    this.#turn = turn
    this.#work = work
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  want(): void {
    if (this.#state !== 'idle') return
    this.#state = 'wanted'
    void this.#turn.take(() => this.#begin())
  }

  /** Nothing begins from now on. */
  close(): void {
    this.#state = 'over'
  }

  async #begin(): Promise<void> {
    if (this.isOver) return
    this.#state = 'idle'
    await this.#work()
  }
}
