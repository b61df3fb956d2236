// Graceful shutdown and restart of a gateway process, and its handler for uncaught errors.

import { errorMessageOf, errorStackOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { CoalescedTask } from '../core/scheduling.ts'
import type { Mutex } from '../core/scheduling.ts'
import { redactTarget } from '../text/redaction.ts'

export interface ShutdownOptions {
  readonly log: Log
  /** Waits for running requests; resolves when none are left. */
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

  /** Returns the exit code. The process ends also when the stop fails. */
  async #end(stop: () => Promise<void>): Promise<number> {
    const { log } = this.#options
    let code = 0
    try {
      await stop()
      log.write('info', 'gateway', 'stopped', [])
    } catch (error) {
      code = 1
      log.write('error', 'gateway', 'shutdown failed', ['cause', errorStackOf(error)])
    }
    await log.end()
    return code
  }

  /** The second signal exits at once. The first may arrive during a shutdown that began otherwise: that goes on. */
  receiveSignal(signal: NodeJS.Signals): void {
    if (++this.#signals === 1) return this.begin(signal)
    this.#options.log.flush()
    this.#options.exit(0)
  }
}

/** Logs an uncaught error and keeps the process running, so that one failure does not cut every other stream. */
export function surviveUncaughtErrors(log: Log): void {
  process.on('uncaughtException', (error) =>
    log.write('error', 'gateway', 'internal error', ['cause', errorStackOf(error)]),
  )
}

export interface RestartSignalsOptions {
  readonly log: Log
  /** Serializes everything that changes the configuration in force. */
  readonly mutex: Mutex
  /** Rejects when the restart fails. */
  readonly restart: () => Promise<void>
}

/** Restarts on SIGUSR2; signals during a restart cause one more restart. */
export class RestartSignals {
  readonly #options: RestartSignalsOptions
  readonly #task: CoalescedTask
  readonly #serving: Promise<void>
  #serve: () => void = () => {}

  constructor(options: RestartSignalsOptions) {
    this.#options = options
    this.#serving = new Promise((resolve) => (this.#serve = resolve))
    this.#task = new CoalescedTask(options.mutex, () => this.#run())
    // A signal during the start waits; without a handler it would end the process.
    process.on('SIGUSR2', () => void this.#serving.then(() => this.#task.schedule()))
  }

  /** Called when the process serves. */
  acceptSignals(): void {
    this.#serve()
  }

  /** Called when the process stops. */
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
