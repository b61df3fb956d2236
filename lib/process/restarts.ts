// Restarts on SIGUSR2: what comes during one is one more.

import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import { shownTarget } from '../base/redact/texts.ts'
import { Errand } from '../base/turn.ts'
import type { Turn } from '../base/turn.ts'

export interface RestartsOptions {
  readonly log: Log
  /** Of all that changes the configuration in force. */
  readonly turn: Turn
  /** Rejects when it comes to nothing. */
  readonly restart: () => Promise<void>
}

export class Restarts {
  readonly #options: RestartsOptions
  readonly #errand: Errand
  readonly #serving: Promise<void>
  #serve: () => void = () => {}

  constructor(options: RestartsOptions) {
    this.#options = options
    this.#serving = new Promise((resolve) => (this.#serve = resolve))
    this.#errand = new Errand(options.turn, () => this.#run())
    // A start is no time for a restart, but it must not end the process.
    process.on('SIGUSR2', () => void this.#serving.then(() => this.#errand.want()))
  }

  /** The process serves. */
  heed(): void {
    this.#serve()
  }

  /** The process is leaving. */
  close(): void {
    this.#errand.close()
  }

  async #run(): Promise<void> {
    const { log, restart } = this.#options
    log.line('info', 'gateway', 'restarting', ['signal', 'SIGUSR2'])
    try {
      await restart()
    } catch (error) {
      const reason = shownTarget(messageOf(error))
      log.line('error', 'gateway', 'restart failed', ['error', reason])
    }
  }
}
