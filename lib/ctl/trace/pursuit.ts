// Follows a request that was sent to be traced: its failure is ours, and a trace that never comes is told, not awaited.

import type { Sending } from './inject.ts'
import type { Source } from './source.ts'

/** How long the first event of a request that was answered may take to come. */
const FIRST_EVENT_TIMEOUT = 5_000
/** How long the trace of a request that failed may go on. */
const LAST_EVENT_TIMEOUT = 1_000

export class Pursuit {
  readonly #source: Source
  readonly #sending: Sending | null
  #events = 0
  #failure: Error | null = null
  #ended: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  /** Without a request of ours it only counts. */
  constructor(source: Source, sending: Sending | null) {
    this.#source = source
    this.#sending = sending
  }

  /** `answered`: the request was, or has failed. */
  start(words: 'told' | 'kept', answered: () => void = () => {}): void {
    if (this.#sending === null) return
    this.#ended = this.#sending.send(words).then(
      () => {
        if (this.#events === 0) this.#giveUpAfter(FIRST_EVENT_TIMEOUT)
        answered()
      },
      (error: Error) => {
        this.#failure = error
        this.#giveUpAfter(LAST_EVENT_TIMEOUT)
        answered()
      },
    )
  }

  /** An event came. */
  seen(): void {
    if (this.#events++ === 0 && this.#failure === null) clearTimeout(this.#timer)
  }

  /** The trace has ended: rejects with what was wrong with the request, or that there was none. */
  async over(): Promise<void> {
    await this.#ended
    clearTimeout(this.#timer)
    if (this.#failure !== null) throw this.#failure
    if (this.#events > 0) return
    if (this.#source.kind === 'saved') throw new Error(`${this.#source.label} holds no events`)
    if (this.#sending === null) throw new Error('the trace stream ended before a request came')
    throw new Error(
      'the request was answered, but no trace of it came: another watcher may have had it, ' +
        `--expression may not fit it, or port ${this.#sending.port} may be another gateway's`,
    )
  }

  #giveUpAfter(ms: number): void {
    this.#timer = setTimeout(() => this.#source.close(), ms)
  }
}
