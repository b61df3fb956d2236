// How a process of the gateway ends: once, gracefully; and at once when somebody insists.

import { errorMessageOf, errorStackOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { CoalescedTask } from '../core/scheduling.ts'
import type { Mutex } from '../core/scheduling.ts'
import { redactTarget } from '../text/redaction.ts'

export interface ShutdownOptions {
  readonly log: Log
  /** Lets what runs finish; resolves when nothing is left. */
  readonly stop: () => Promise<void>
  readonly exit: (code: number) => void
}

export class GracefulShutdown {
  readonly #options: ShutdownOptions
  #state: 'running' | 'stopping' = 'running'
  #signals = 0

  constructor(options: ShutdownOptions) {
    this.#options = options
  }

  get state(): 'running' | 'stopping' {
    return this.#state
  }

  begin(reason: string): void {
    if (this.#state === 'stopping') return
    this.#state = 'stopping'
    const { log, stop, exit } = this.#options
    log.write('info', 'gateway', 'shutting down', ['signal', reason])
    void this.#end(stop).then(exit)
  }

  /** The exit code. A stop that fails is an end all the same. */
  async #end(stop: () => Promise<void>): Promise<number> {
    const { log } = this.#options
    let code = 0
    try {
      await stop()
      log.write('info', 'gateway', 'stopped', [])
    } catch (error) {
      code = 1
      log.write('error', 'gateway', 'cannot stop well', ['cause', errorStackOf(error)])
    }
    await log.end()
    return code
  }

  /** A second signal does not wait any longer. The first one may come when something else has begun the end: that goes on. */
  receiveSignal(signal: NodeJS.Signals): void {
    if (++this.#signals === 1) return this.begin(signal)
    this.#options.log.flush()
    this.#options.exit(0)
  }
}

/** A fault of ours that nothing else caught costs what it happened in, and not every other stream. */
export function surviveUncaughtErrors(log: Log): void {
  process.on('uncaughtException', (error) =>
    log.write('error', 'gateway', 'internal error', ['cause', errorStackOf(error)]),
  )
}

// Restarts on SIGUSR2: what comes during one is one more.

export interface RestartSignalsOptions {
  readonly log: Log
  /** Of all that changes the configuration in force. */
  readonly mutex: Mutex
  /** Rejects when it comes to nothing. */
  readonly restart: () => Promise<void>
}

export class RestartSignals {
  readonly #options: RestartSignalsOptions
  readonly #task: CoalescedTask
  readonly #serving: Promise<void>
  #serve: () => void = () => {}

  constructor(options: RestartSignalsOptions) {
    this.#options = options
    this.#serving = new Promise((resolve) => (this.#serve = resolve))
    this.#task = new CoalescedTask(options.mutex, () => this.#run())
    // A start is no time for a restart, but it must not end the process.
    process.on('SIGUSR2', () => void this.#serving.then(() => this.#task.schedule()))
  }

  /** The process serves. */
  acceptSignals(): void {
    this.#serve()
  }

  /** The process is leaving. */
  close(): void {
    this.#task.close()
  }

  async #run(): Promise<void> {
    const { log, restart } = this.#options
    log.write('info', 'gateway', 'restarting', ['signal', 'SIGUSR2'])
    try {
      await restart()
    } catch (error) {
      const reason = redactTarget(errorMessageOf(error))
      log.write('error', 'gateway', 'restart failed', ['error', reason])
    }
  }
}
