// Watches the configuration files and SIGHUP, loads a changed configuration and passes it to `Gateway.reload`, which puts
// it in force. A configuration with errors is logged and changes nothing.

import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { selectStartOnlyConfig } from '../config/start-only-config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { ConfigRefusal } from '../config/config-error.ts'
import type { Config } from '../config/config-types.ts'
import { FileWatcher, FILE_POLL_MS } from '../config/watch-files.ts'
import { errorMessageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { redactTarget } from '../text/redaction.ts'
import { CoalescedTask } from '../core/scheduling.ts'
import type { Mutex } from '../core/scheduling.ts'
import { logConfigProblems } from './start-options.ts'

/** A gateway in one process, or all workers together. */
export interface Reloadable {
  readonly plan: { readonly config: Config; readonly generation: number }
  /** Rejects when the configuration is refused; then the old one stays in force. */
  reload(written: Config): Promise<void>
}

export interface ReloadOptions {
  /** Reads the configuration from its files. */
  readonly load: () => Config
  /** Serializes everything that changes the configuration in force. */
  readonly mutex: Mutex
  /** Milliseconds between two checks of the files. */
  readonly interval?: number
}

/** A file that a refused configuration lacks is not watched, and may appear later: after this many checks, try again. */
const CHECKS_BEFORE_RETRY = 10
const RETRY_REASON = 'retry'

export class Reloader {
  readonly #gateway: Reloadable
  readonly #log: Log
  readonly #load: () => Config
  readonly #watch: FileWatcher
  readonly #interval: number
  readonly #task: CoalescedTask
  #reason = ''
  #refusal: ConfigRefusal | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(gateway: Reloadable, log: Log, options: ReloadOptions) {
    this.#gateway = gateway
    this.#log = log
    this.#load = options.load
    this.#task = new CoalescedTask(options.mutex, () => this.#run(this.#reason))
    this.#interval = options.interval ?? FILE_POLL_MS
    this.#watch = new FileWatcher(() => this.reload('file change'), this.#interval)
  }

  /** Why the last attempt was refused; null when it was not. */
  get refusal(): ConfigRefusal | null {
    return this.#refusal
  }

  /** `readAt`: just before the configuration in force was read, in milliseconds since 1970. */
  async start(readAt: number): Promise<void> {
    await this.#watch.watch(watchedFilesOf(this.#gateway.plan.config), readAt)
  }

  /** Also reloads on SIGHUP, once the gateway serves; before that SIGHUP is ignored, so it does not end the process. */
  startWithSignal(readAt: number, serving: Promise<void>): void {
    const watching = serving.then(() => this.start(readAt))
    const reload = (): void => this.reload('SIGHUP')
    // The caller that awaits `serving` reports its failure.
    watching.catch(() => {})
    process.on('SIGHUP', () => void watching.then(reload, () => {}))
  }

  /** Nothing changes from now on; a reload in progress is dropped. */
  close(): void {
    this.#task.close()
    this.#watch.close()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Requests during a reload cause one more reload. */
  reload(reason: string): void {
    this.#reason = reason
    this.#task.schedule()
  }

  async #run(reason: string): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    try {
      await this.#replace(reason)
    } catch (error) {
      if (!this.#task.isClosed) this.#refuse(error, reason)
    }
  }

  async #replace(reason: string): Promise<void> {
    const readAt = Date.now()
    await this.#watch.takeBaseline()
    if (this.#task.isClosed) return
    const config = this.#load()
    this.#warnIfRestartNeeded(config)
    await this.#gateway.reload(config)
    await this.#watch.watch(watchedFilesOf(config), readAt)
    this.#refusal = null
    const { generation } = this.#gateway.plan
    const fields = ['reason', reason, 'generation', generation]
    this.#log.write('info', 'config', 'reloaded config', fields)
    logConfigProblems(config, this.#log)
  }

  #refuse(error: unknown, reason: string): void {
    const problems = describeReloadProblems(error)
    if (error instanceof ConfigError)
      this.#timer = setTimeout(
        () => this.reload(RETRY_REASON),
        CHECKS_BEFORE_RETRY * this.#interval,
      ).unref()
    if (reason === RETRY_REASON && isDeepStrictEqual(this.refusal?.problems, problems)) return
    this.#refusal = { at: new Date(), problems }
    this.#log.write('error', 'config', 'Failed to reload config', [
      'kept',
      this.#gateway.plan.generation,
    ])
    for (const problem of problems)
      this.#log.write('error', 'config', 'config refused', ['problem', problem])
  }

  /** Compares with the configuration in force, so the warning repeats until the restart. */
  #warnIfRestartNeeded(config: Config): void {
    if (
      isDeepStrictEqual(
        selectStartOnlyConfig(this.#gateway.plan.config),
        selectStartOnlyConfig(config),
      )
    )
      return
    const message = 'config: is read at start only; restart to apply its change'
    this.#log.write('warn', 'config', message, [])
  }
}

function watchedFilesOf({ file, files, folders }: Config): string[] {
  return [resolve(file), ...files, ...folders]
}

/** Redacted: the messages quote the configuration, which may hold credentials. */
function describeReloadProblems(error: unknown): string[] {
  if (error instanceof ConfigError)
    return error.message.split('\n').map((line) => redactTarget(line))
  return [redactTarget(errorMessageOf(error))]
}
