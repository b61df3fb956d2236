// Restarts on SIGUSR2: one at a time; what comes meanwhile is one more.

import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import { shownTarget } from '../base/redact.ts'

export class Restarts {
  readonly #log: Log
  readonly #restart: () => Promise<void>
  /** A start is no time for a restart, but it must not end the process. */
  #state: 'idle' | 'busy' | 'again' | 'over' = 'busy'

  /** `restart` rejects when it comes to nothing. */
  constructor(log: Log, restart: () => Promise<void>) {
    this.#log = log
    this.#restart = restart
    process.on('SIGUSR2', () => this.#begin())
  }

  /** The process serves. */
  heed(): void {
    this.#rest()
  }

  /** The process is leaving. */
  close(): void {
    this.#state = 'over'
  }

  #begin(): void {
    if (this.#state === 'over') return
    const isBusy = this.#state !== 'idle'
    this.#state = isBusy ? 'again' : 'busy'
    if (!isBusy) void this.#run()
  }

  async #run(): Promise<void> {
    this.#log.line('info', 'gateway', 'restarting', ['signal', 'SIGUSR2'])
    try {
      await this.#restart()
    } catch (error) {
      const reason = shownTarget(messageOf(error))
      this.#log.line('error', 'gateway', 'restart failed', ['error', reason])
    }
    this.#rest()
  }

  #rest(): void {
    if (this.#state === 'over') return
    const isWanted = this.#state === 'again'
    this.#state = 'idle'
    if (isWanted) this.#begin()
  }
}
