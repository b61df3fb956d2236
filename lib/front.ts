// What operators and their tools ask of a gateway of several workers, at the addresses of the configuration.

import { readinessEndpoints } from './admin/readiness.ts'
import type { Readiness } from './admin/readiness.ts'
import { AdminServer } from './admin/server.ts'
import type { Place } from './admin/server.ts'
import { addressesOf, isPreset } from './base/config/check/process.ts'
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

const READINESS: Place = { name: 'readiness', setting: 'config.readinessAddr' }

export class Front {
  readonly #options: FrontOptions
  readonly #servers: AdminServer[] = []

  constructor(options: FrontOptions) {
    this.#options = options
  }

  /** Throws when an address that somebody wrote cannot be had. */
  async open(): Promise<void> {
    const { config, env, readiness, log } = this.#options
    const address = addressesOf(config.process, env).readiness
    const troubled = (message: string): void =>
      log.line('warn', 'admin', 'cannot accept', ['error', message])
    const server = new AdminServer(readinessEndpoints(readiness), troubled, READINESS)
    this.#servers.push(server)
    try {
      for (const label of await server.listen(address))
        log.line('info', 'admin', 'serving readiness', ['address', label])
    } catch (error) {
      if (!isPreset(address)) throw error
      const reason = error instanceof Error ? error.message : String(error)
      log.line('warn', 'admin', 'not serving readiness', ['error', reason])
    }
  }

  close(): void {
    for (const server of this.#servers) server.close()
  }
}
