// How a session with a target begins: `initialize`, its answer, `notifications/initialized`, and only then the rest.
// Over HTTP each message travels on its own, so what comes behind the notification waits until that has arrived.

type State = 'fresh' | 'asked' | 'answered' | 'telling' | 'done'

const MOVES: Record<State, readonly State[]> = {
  fresh: ['asked'],
  asked: ['answered', 'fresh'],
  answered: ['telling', 'fresh'],
  telling: ['done', 'fresh'],
  done: ['fresh'],
}

export class Handshake {
  #state: State = 'fresh'
  #number = 0

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** `initialize` was answered. */
  get hasBegun(): boolean {
    return this.#state !== 'fresh' && this.#state !== 'asked'
  }

  /** The notification is under way: nothing may overtake it. */
  get isTelling(): boolean {
    return this.#state === 'telling'
  }

  /** What a message that goes out now is: the first request is `initialize`, and a notification ends it. */
  sending(number: number): 'initialize' | 'initialized' | 'other' {
    if (this.#state === 'fresh' && number !== 0) {
      this.#move('asked')
      this.#number = number
      return 'initialize'
    }
    if (this.#state !== 'answered' || number !== 0) return 'other'
    this.#move('telling')
    return 'initialized'
  }

  /** Whether this is the request whose answer is awaited to begin. */
  isInitialize(number: number): boolean {
    return this.#state === 'asked' && number === this.#number
  }

  answered(): void {
    this.#move('answered')
  }

  /** The notification has arrived, or never will. */
  told(): void {
    this.#move('done')
  }

  /** From the start again. */
  reset(): void {
    if (this.#state !== 'fresh') this.#move('fresh')
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`mcp handshake: ${this.#state} → ${to}`)
    this.#state = to
  }
}
