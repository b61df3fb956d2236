// Puts a changed configuration in force while requests run: on a change of its files, or on SIGHUP. One that is
// refused changes nothing but the log.

import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { atStart } from '../base/config/at-start.ts'
import { ConfigError } from '../base/config/error.ts'
import type { Refusal } from '../base/config/error.ts'
import { complaintsOf } from '../base/config/resources.ts'
import type { Config } from '../base/config/types.ts'
import { FileWatch, LOOK_MS } from '../base/config/watch.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import { shownTarget } from '../base/redact/texts.ts'
import { Errand } from '../base/turn.ts'
import type { Turn } from '../base/turn.ts'

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
  readonly turn: Turn
  /** Milliseconds between two looks at the files. */
  readonly interval?: number
}

/** A file that a refused configuration lacks is not watched yet, and may still come: after this many looks it is read again. */
const PATIENCE = 10
const ANOTHER_TRY = 'another try'

export class Reloader {
  readonly #gateway: Reloadable
  readonly #log: Log
  readonly #load: () => Config
  readonly #watch: FileWatch
  readonly #interval: number
  readonly #errand: Errand
  #reason = ''
  #refusal: Refusal | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(gateway: Reloadable, log: Log, options: ReloadOptions) {
    this.#gateway = gateway
    this.#log = log
    this.#load = options.load
    this.#errand = new Errand(options.turn, () => this.#run(this.#reason))
    this.#interval = options.interval ?? LOOK_MS
    this.#watch = new FileWatch(() => this.reload('file change'), this.#interval)
  }

  /** Why the last attempt was refused; null when it was not. */
  get refusal(): Refusal | null {
    return this.#refusal
  }

  /** `readAt`: just before the configuration in force was read, in milliseconds since 1970. */
  async start(readAt: number): Promise<void> {
    await this.#watch.watch(filesOf(this.#gateway.plan.config), readAt)
  }

  /** Also by signal, which is heeded when the gateway serves: before that it must not end the process. */
  keepUp(readAt: number, serving: Promise<void>): void {
    const watching = serving.then(() => this.start(readAt))
    const reload = (): void => this.reload('SIGHUP')
    // Whoever awaits `serving` tells of its failure.
    watching.catch(() => {})
    process.on('SIGHUP', () => void watching.then(reload, () => {}))
  }

  /** From now on nothing changes; a load under way comes to nothing. */
  close(): void {
    this.#errand.close()
    this.#watch.close()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** What comes while one is under way is one more time. */
  reload(reason: string): void {
    this.#reason = reason
    this.#errand.want()
  }

  async #run(reason: string): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    try {
      await this.#replace(reason)
    } catch (error) {
      if (!this.#errand.isOver) this.#refuse(error, reason)
    }
  }

  async #replace(reason: string): Promise<void> {
    const readAt = Date.now()
    await this.#watch.take()
    if (this.#errand.isOver) return
    const config = this.#load()
    this.#warnOfRestart(config)
    await this.#gateway.reload(config)
    await this.#watch.watch(filesOf(config), readAt)
    this.#refusal = null
    const { generation } = this.#gateway.plan
    const fields = ['reason', reason, 'generation', generation]
    this.#log.line('info', 'config', 'reloaded config', fields)
    for (const message of [...config.warnings, ...complaintsOf(config.resources)])
      this.#log.line('warn', 'config', message, [])
  }

  #refuse(error: unknown, reason: string): void {
    const problems = problemsOf(error)
    if (error instanceof ConfigError)
      this.#timer = setTimeout(() => this.reload(ANOTHER_TRY), PATIENCE * this.#interval).unref()
    if (reason === ANOTHER_TRY && isDeepStrictEqual(this.refusal?.problems, problems)) return
    this.#refusal = { at: new Date(), problems }
    this.#log.line('error', 'config', 'Failed to reload config', [
      'kept',
      this.#gateway.plan.generation,
    ])
    for (const problem of problems)
      this.#log.line('error', 'config', 'refused', ['problem', problem])
  }

  /** Compared with what is in force, so that it is told as long as it holds. */
  #warnOfRestart(config: Config): void {
    if (isDeepStrictEqual(atStart(this.#gateway.plan.config), atStart(config))) return
    const message = 'config: is read at start only; restart to apply its change'
    this.#log.line('warn', 'config', message, [])
  }
}

function filesOf({ file, files, folders }: Config): string[] {
  return [resolve(file), ...files, ...folders]
}

/** As they may be shown: they quote what is written, which may be a credential. */
function problemsOf(error: unknown): string[] {
  if (error instanceof ConfigError)
    return error.message.split('\n').map((line) => shownTarget(line))
  return [shownTarget(messageOf(error))]
}
