// What operators and their tools ask of a gateway of several workers, at the addresses of the configuration.

import { readinessEndpoints } from './admin/readiness.ts'
import type { Readiness } from './admin/readiness.ts'
import { AdminServers, READINESS } from './admin/servers.ts'
import { addressesOf } from './base/config/check/process.ts'
import type { Refusal } from './base/config/error.ts'
import type { Config } from './base/config/types.ts'
import type { Log } from './base/log.ts'
import type { WorkerDoor } from './workers/types.ts'

export interface FrontOptions {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where the workers are asked. */
  readonly doors: () => readonly WorkerDoor[]
  readonly readiness: () => Readiness
  /** Why the last configuration was refused. */
  readonly refusal: () => Refusal | null
  /** Begins a graceful shutdown. */
  readonly quit: () => void
  readonly log: Log
}

export class Front {
  readonly #options: FrontOptions
  readonly #servers: AdminServers

  constructor(options: FrontOptions) {
    this.#options = options
    this.#servers = new AdminServers(options.log)
  }

  /** Throws when an address that somebody wrote cannot be had. */
  async open(): Promise<void> {
    const { config, env, readiness } = this.#options
    const address = addressesOf(config.process, env).readiness
    await this.#servers.tryServe(READINESS, address, readinessEndpoints(readiness))
  }

  close(): void {
    this.#servers.close()
  }
}
