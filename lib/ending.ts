// How a process of the gateway ends: once, gracefully; and at once when somebody insists.

import { tellSources } from './base/bundle-places.ts'
import type { Log } from './base/log.ts'

export interface EndingOptions {
  readonly log: Log
  /** Lets what runs finish; resolves when nothing is left. */
  readonly stop: () => Promise<void>
  readonly exit: (code: number) => void
}

export class Ending {
  readonly #options: EndingOptions
  #state: 'running' | 'stopping' = 'running'

  constructor(options: EndingOptions) {
    this.#options = options
  }

  begin(reason: string): void {
    if (this.#state === 'stopping') return
    this.#state = 'stopping'
    const { log, stop, exit } = this.#options
    log.line('info', 'gateway', 'shutting down', ['signal', reason])
    void stop().then(async () => {
      log.line('info', 'gateway', 'stopped', [])
      await log.end()
      exit(0)
    })
  }

  /** A second signal does not wait any longer. */
  signalled(signal: NodeJS.Signals): void {
    if (this.#state === 'running') return this.begin(signal)
    this.#options.log.flush()
    this.#options.exit(0)
  }
}

/** A fault of ours that nothing else caught costs what it happened in, and not every other stream. */
export function outlive(log: Log): void {
  tellSources()
  process.on('uncaughtException', (error) =>
    log.line('error', 'gateway', 'internal error', ['cause', error.stack ?? error.message]),
  )
}
