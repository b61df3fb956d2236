// Puts a changed configuration in force while requests run: on a change of its files, or on SIGHUP. One that is
// refused changes nothing but the log.

import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from './base/config/error.ts'
import type { Config } from './base/config/types.ts'
import { FileWatch } from './base/config/watch.ts'
import type { Log } from './base/log.ts'
import type { Gateway } from './gateway.ts'

export interface Refusal {
  readonly at: Date
  readonly problems: readonly string[]
}

export class Reloader {
  readonly #gateway: Gateway
  readonly #log: Log
  readonly #load: () => Config
  readonly #watch: FileWatch
  #state: 'idle' | 'loading' | 'again' = 'idle'
  #refusal: Refusal | null = null

  constructor(gateway: Gateway, log: Log, load: () => Config) {
    this.#gateway = gateway
    this.#log = log
    this.#load = load
    this.#watch = new FileWatch(() => this.reload('file change'))
  }

  /** Why the last attempt was refused; null when it was not. */
  get refusal(): Refusal | null {
    return this.#refusal
  }

  async start(): Promise<void> {
    await this.#watch.watch(filesOf(this.#gateway.plan.config))
  }

  close(): void {
    this.#watch.close()
  }

  /** One at a time; what comes meanwhile is one more time. */
  reload(reason: string): void {
    if (this.#state !== 'idle') {
      this.#state = 'again'
      return
    }
    this.#state = 'loading'
    void this.#run(reason)
  }

  async #run(reason: string): Promise<void> {
    try {
      const config = this.#load()
      this.#warnOfRestart(config)
      await this.#gateway.reload(config)
      await this.#watch.watch(filesOf(config))
      this.#refusal = null
      const { generation } = this.#gateway.plan
      this.#log.line('info', 'config', 'reloaded config', [
        'reason',
        reason,
        'generation',
        generation,
      ])
    } catch (error) {
      this.#refuse(error)
    }
    const isWanted = this.#state === 'again'
    this.#state = 'idle'
    if (isWanted) this.reload(reason)
  }

  #refuse(error: unknown): void {
    const problems = problemsOf(error)
    this.#refusal = { at: new Date(), problems }
    this.#log.line('error', 'config', 'Failed to reload config', [
      'kept',
      this.#gateway.plan.generation,
    ])
    for (const problem of problems)
      this.#log.line('error', 'config', 'refused', ['problem', problem])
  }

  #warnOfRestart(config: Config): void {
    const { process, backend } = this.#gateway.plan.config
    if (isDeepStrictEqual([process, backend], [config.process, config.backend])) return
    this.#log.line(
      'warn',
      'config',
      'config: is read at start only; restart to apply its change',
      [],
    )
  }
}

function filesOf({ file, files, folders }: Config): string[] {
  return [resolve(file), ...files, ...folders]
}

function problemsOf(error: unknown): string[] {
  if (error instanceof ConfigError) return error.message.split('\n')
  return [error instanceof Error ? error.message : String(error)]
}
