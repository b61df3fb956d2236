// Ends workers that do not answer any more: one that hangs would be given its share of the connections for ever.

import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../core/log.ts'
import type { ProcessLink } from '../core/process-link.ts'
import { workerNameOf } from '../core/session-owner.ts'
import type { WorkerService } from './supervisor.ts'
import { ALIVE_MESSAGE, CHILD_ENDED_MESSAGE, CHILD_STARTED_MESSAGE } from './worker-messages.ts'
import type { WorkerEndpoints, WorkerId } from './worker-messages.ts'

/** Between an answer and the next question. */
const CHECK_INTERVAL_MS = 5_000

/** More than the largest configuration takes to load. */
const MAX_SILENCE_MS = 60_000

export interface WatchdogOptions {
  readonly log: Log
  /** Ends it without a word to it. */
  readonly kill: (pid: number) => void
  readonly checkIntervalMs?: number
  readonly maxSilenceMs?: number
}

export class Watchdog implements WorkerService {
  readonly #options: Required<WatchdogOptions>
  readonly #links = new Map<string, ProcessLink>()

  constructor(options: WatchdogOptions) {
    this.#options = { checkIntervalMs: CHECK_INTERVAL_MS, maxSilenceMs: MAX_SILENCE_MS, ...options }
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    this.#links.set(workerNameOf(id), link)
  }

  workerReady(door: WorkerEndpoints): void {
    void this.#watch(door)
  }

  workerGone(id: WorkerId): void {
    this.#links.delete(workerNameOf(id))
  }

  async #watch(door: WorkerEndpoints): Promise<void> {
    const { checkIntervalMs, maxSilenceMs, log, kill } = this.#options
    for (;;) {
      const link = this.#links.get(workerNameOf(door))
      if (link === undefined) return
      try {
        await link.request(ALIVE_MESSAGE, null, maxSilenceMs)
      } catch {
        // It is gone, which is told elsewhere.
        if (link.isClosed) return
        log.write('error', 'gateway', 'worker hangs', [
          'worker',
          door.slot,
          'silent',
          `${maxSilenceMs}ms`,
        ])
        return kill(door.pid)
      }
      await wait(checkIntervalMs, undefined, { ref: false })
    }
  }
}

// Ends what a dead worker left running: child processes that do not end with their input would stay for ever.

/** From SIGTERM to SIGKILL. */
const TERM_GRACE = 3_000

/** More than a worker may have; what is above is not looked after. */
const MAX_CHILDREN = 65_536

/** Each leads a group; by its number, and when it began, for numbers are given again. */
type ProcessGroups = Map<number, string | null>

export class OrphanedChildren implements WorkerService {
  readonly #grace: number
  readonly #children = new Map<string, ProcessGroups>()
  /** Told to end. */
  readonly #ending: ProcessGroups = new Map()

  constructor(grace = TERM_GRACE) {
    this.#grace = grace
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    const groups: ProcessGroups = new Map()
    this.#children.set(workerNameOf(id), groups)
    link.on(CHILD_STARTED_MESSAGE, (pid) => {
      if (groups.size < MAX_CHILDREN) groups.set(Number(pid), processStartTime(Number(pid)))
    })
    link.on(CHILD_ENDED_MESSAGE, (pid) => groups.delete(Number(pid)))
  }

  workerGone(id: WorkerId): void {
    const groups = this.#children.get(workerNameOf(id)) ?? new Map<number, string | null>()
    this.#children.delete(workerNameOf(id))
    for (const [pid, begun] of groups) {
      signalProcessGroup(pid, begun, 'SIGTERM')
      this.#ending.set(pid, begun)
      setTimeout(() => this.#kill(pid, begun), this.#grace).unref()
    }
  }

  /** Before it returns: for a process that exits now. */
  killAll(): void {
    for (const [pid, begun] of this.#ending) this.#kill(pid, begun)
  }

  #kill(pid: number, begun: string | null): void {
    if (this.#ending.delete(pid)) signalProcessGroup(pid, begun, 'SIGKILL')
  }
}

/** The number of a group is not given again as long as one of it is there, with or without its leader. */
function signalProcessGroup(pid: number, begun: string | null, name: NodeJS.Signals): void {
  const now = processStartTime(pid)
  if (!Number.isSafeInteger(pid) || pid <= 1 || (now !== null && now !== begun)) return
  try {
    process.kill(-pid, name)
  } catch {
    // Nobody is left.
  }
}

/** As Linux counts; null where the system does not tell, or there is no such process. */
function processStartTime(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
