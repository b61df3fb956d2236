// Ends workers that do not answer any more: one that hangs would be given its share of the connections for ever.

import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../base/log/log.ts'
import type { Link } from '../base/processes/link.ts'
import { workerName } from '../base/processes/session-mark.ts'
import { ALIVE } from './messages.ts'
import type { WorkerService } from './supervisor.ts'
import type { WorkerDoor, WorkerId } from './types.ts'

/** Between an answer and the next question. */
const LOOK_MS = 5_000

/** More than the largest configuration takes to load. */
const SILENT_MS = 60_000

export interface WatchdogOptions {
  readonly log: Log
  /** Ends it without a word to it. */
  readonly kill: (pid: number) => void
  readonly look?: number
  readonly silent?: number
}

export class Watchdog implements WorkerService {
  readonly #options: Required<WatchdogOptions>
  readonly #links = new Map<string, Link>()

  constructor(options: WatchdogOptions) {
    this.#options = { look: LOOK_MS, silent: SILENT_MS, ...options }
  }

  born(id: WorkerId, link: Link): void {
    this.#links.set(workerName(id), link)
  }

  ready(door: WorkerDoor): void {
    void this.#watch(door)
  }

  gone(id: WorkerId): void {
    this.#links.delete(workerName(id))
  }

  async #watch(door: WorkerDoor): Promise<void> {
    const { look, silent, log, kill } = this.#options
    for (;;) {
      const link = this.#links.get(workerName(door))
      if (link === undefined) return
      try {
        await link.ask(ALIVE, null, silent)
      } catch {
        // It is gone, which is told elsewhere.
        if (link.isClosed) return
        log.line('error', 'gateway', 'worker hangs', ['worker', door.slot, 'silent', `${silent}ms`])
        return kill(door.pid)
      }
      await wait(look, undefined, { ref: false })
    }
  }
}
