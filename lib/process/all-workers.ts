// All workers as one thing that takes a configuration, as a gateway in one process does.

import { atStart } from '../base/config/at-start.ts'
import { writtenOf } from '../base/config/load.ts'
import type { Config } from '../base/config/types.ts'
import type { InForce } from '../ui/gateway-facts.ts'
import type { Supervisor } from '../workers/supervisor.ts'
import type { Reloadable } from './reload.ts'

export class AllWorkers implements Reloadable {
  readonly #supervisor: Supervisor
  #plan: InForce

  constructor(config: Config, supervisor: Supervisor) {
    this.#supervisor = supervisor
    this.#plan = { config, generation: 1, loadedAt: new Date() }
  }

  get plan(): InForce {
    return this.#plan
  }

  async reload(written: Config): Promise<void> {
    await this.#supervisor.reload(writtenOf(written))
    this.#take({ ...written, ...atStart(this.#plan.config) })
  }

  /** What is this process's own stays as it was. */
  async restart(written: Config): Promise<void> {
    const { workers, terminationDeadline } = written.process
    await this.#supervisor.restart(writtenOf(written), workers, terminationDeadline)
    const { admin, stats, readiness, logging } = this.#plan.config.process
    this.#take({ ...written, process: { ...written.process, admin, stats, readiness, logging } })
  }

  #take(config: Config): void {
    this.#plan = { config, generation: this.#plan.generation + 1, loadedAt: new Date() }
  }
}
