// Puts a changed configuration in force while requests run: on a change of its files, or on SIGHUP. One that is
// refused changes nothing but the log.

import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { selectStartOnlyConfig } from '../config/start-only-config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { ConfigRefusal } from '../config/config-error.ts'
import { describeResourceProblems } from '../config/policy-resources.ts'
import type { Config } from '../config/config-types.ts'
import { FileWatcher, FILE_POLL_MS } from '../config/watch-files.ts'
import { errorMessageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { redactTarget } from '../text/redaction.ts'
import { CoalescedTask } from '../core/scheduling.ts'
import type { Mutex } from '../core/scheduling.ts'

/** One process, or several that are told together. */
export interface Reloadable {
  readonly plan: { readonly config: Config; readonly generation: number }
  /** Rejects when it is refused; then all is as before. */
  reload(written: Config): Promise<void>
}

export interface ReloadOptions {
  /** Reads the configuration again. */
  readonly load: () => Config
  /** Of all that changes the configuration in force. */
  readonly mutex: Mutex
  /** Milliseconds between two looks at the files. */
  readonly interval?: number
}

/** A file that a refused configuration lacks is not watched yet, and may still come: after this many looks it is read again. */
const LOOKS_BEFORE_RETRY = 10
const RETRY_REASON = 'another try'

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

  /** `streamFromWorker`: just before the configuration in force was read, in milliseconds since 1970. */
  async start(readAt: number): Promise<void> {
    await this.#watch.watch(watchedFilesOf(this.#gateway.plan.config), readAt)
  }

  /** Also by signal, which is heeded when the gateway serves: before that it must not end the process. */
  startWithSignal(readAt: number, serving: Promise<void>): void {
    const watching = serving.then(() => this.start(readAt))
    const reload = (): void => this.reload('SIGHUP')
    // Whoever awaits `serving` tells of its failure.
    watching.catch(() => {})
    process.on('SIGHUP', () => void watching.then(reload, () => {}))
  }

  /** From now on nothing changes; a load under way comes to nothing. */
  close(): void {
    this.#task.close()
    this.#watch.close()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** What comes while one is under way is one more time. */
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
    for (const message of [...config.warnings, ...describeResourceProblems(config.resources)])
      this.#log.write('warn', 'config', message, [])
  }

  #refuse(error: unknown, reason: string): void {
    const problems = describeReloadProblems(error)
    if (error instanceof ConfigError)
      this.#timer = setTimeout(
        () => this.reload(RETRY_REASON),
        LOOKS_BEFORE_RETRY * this.#interval,
      ).unref()
    if (reason === RETRY_REASON && isDeepStrictEqual(this.refusal?.problems, problems)) return
    this.#refusal = { at: new Date(), problems }
    this.#log.write('error', 'config', 'Failed to reload config', [
      'kept',
      this.#gateway.plan.generation,
    ])
    for (const problem of problems)
      this.#log.write('error', 'config', 'refused', ['problem', problem])
  }

  /** Compared with what is in force, so that it is told as long as it holds. */
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

/** As they may be shown: they quote what is written, which may be a credential. */
function describeReloadProblems(error: unknown): string[] {
  if (error instanceof ConfigError)
    return error.message.split('\n').map((line) => redactTarget(line))
  return [redactTarget(errorMessageOf(error))]
}
