// Work that is done one at a time.

/** Whoever works in the same turn waits for those before. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}

/** Work that is asked for time and again: however often that is before it begins, it is done once. */
export class CoalescedTask {
  readonly #turn: Mutex
  readonly #work: () => Promise<void>
  #state: 'idle' | 'wanted' | 'over' = 'idle'

  constructor(turn: Mutex, work: () => Promise<void>) {
    this.#turn = turn
    this.#work = work
  }

  get isClosed(): boolean {
    return this.#state === 'over'
  }

  schedule(): void {
    if (this.#state !== 'idle') return
    this.#state = 'wanted'
    void this.#turn.run(() => this.#begin())
  }

  /** Nothing begins from now on. */
  close(): void {
    this.#state = 'over'
  }

  async #begin(): Promise<void> {
    if (this.isClosed) return
    this.#state = 'idle'
    await this.#work()
  }
}

// Something that is done again and again, until it is called off.

/** What it returns calls it off. */
export type StartInterval = (ms: number, act: () => void) => () => void

/** Keeps no process alive. */
export const startInterval: StartInterval = (ms, act) => {
  const timer = setInterval(act, ms).unref()
  return () => clearInterval(timer)
}

// A wait that ends, whatever is waited for.

/** Waits for the work, or for so long. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work, deadline])
  clearTimeout(timer)
}

// Counts what is under way, for whoever waits until nothing is.

export class PendingCounter {
  #count = 0
  #waiting: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
    if (this.#count > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  whenIdle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
