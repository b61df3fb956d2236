// How a process of the gateway ends: once, gracefully; and at once when somebody insists.

import { stackOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'

export interface EndingOptions {
  readonly log: Log
  /** Lets what runs finish; resolves when nothing is left. */
  readonly stop: () => Promise<void>
  readonly exit: (code: number) => void
}

export class Ending {
  readonly #options: EndingOptions
  #state: 'running' | 'stopping' = 'running'
  #signals = 0

  constructor(options: EndingOptions) {
    this.#options = options
  }

  get state(): 'running' | 'stopping' {
    return this.#state
  }

  begin(reason: string): void {
    if (this.#state === 'stopping') return
    this.#state = 'stopping'
    const { log, stop, exit } = this.#options
    log.line('info', 'gateway', 'shutting down', ['signal', reason])
    void this.#end(stop).then(exit)
  }

  /** The exit code. A stop that fails is an end all the same. */
  async #end(stop: () => Promise<void>): Promise<number> {
    const { log } = this.#options
    let code = 0
    try {
      await stop()
      log.line('info', 'gateway', 'stopped', [])
    } catch (error) {
      code = 1
      log.line('error', 'gateway', 'cannot stop well', ['cause', stackOf(error)])
    }
    await log.end()
    return code
  }

  /** A second signal does not wait any longer. The first one may come when something else has begun the end: that goes on. */
  signalled(signal: NodeJS.Signals): void {
    if (++this.#signals === 1) return this.begin(signal)
    this.#options.log.flush()
    this.#options.exit(0)
  }
}

/** A fault of ours that nothing else caught costs what it happened in, and not every other stream. */
export function outlive(log: Log): void {
  process.on('uncaughtException', (error) =>
    log.line('error', 'gateway', 'internal error', ['cause', stackOf(error)]),
  )
}
