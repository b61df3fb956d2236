// Scheduling helpers: a mutex, a coalesced task, intervals, bounded waits and a counter of pending work.

/** Runs tasks one after another. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}

/** A task that may be scheduled often: until it starts, further calls have no effect. */
export class CoalescedTask {
  readonly #mutex: Mutex
  readonly #work: () => Promise<void>
  #state: 'idle' | 'scheduled' | 'closed' = 'idle'

  constructor(mutex: Mutex, work: () => Promise<void>) {
    this.#mutex = mutex
    this.#work = work
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  schedule(): void {
    if (this.#state !== 'idle') return
    this.#state = 'scheduled'
    void this.#mutex.run(() => this.#start())
  }

  /** No further run starts. */
  close(): void {
    this.#state = 'closed'
  }

  async #start(): Promise<void> {
    if (this.isClosed) return
    this.#state = 'idle'
    await this.#work()
  }
}

/** Calls `callback` every `ms` until the returned function is called. */
export type StartInterval = (ms: number, callback: () => void) => () => void

/** Does not keep the process alive. */
export const startInterval: StartInterval = (ms, callback) => {
  const timer = setInterval(callback, ms).unref()
  return () => clearInterval(timer)
}

/** Waits until the work is done, but at most `ms`. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work, deadline])
  clearTimeout(timer)
}

/** Counts pending work; `whenIdle` resolves when there is none. */
export class PendingCounter {
  #count = 0
  #waiters: (() => void)[] = []

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
    if (this.#count > 0) return
    for (const resolve of this.#waiters.splice(0)) resolve()
  }

  whenIdle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiters.push(resolve))
  }
}
