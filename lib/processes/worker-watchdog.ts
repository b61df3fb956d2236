// Kills workers that hang, and ends child processes that dead workers left.

import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../core/log.ts'
import type { ProcessLink } from '../core/process-link.ts'
import { workerNameOf } from '../core/session-owner.ts'
import type { WorkerService } from './supervisor.ts'
import { ALIVE_MESSAGE, CHILD_ENDED_MESSAGE, CHILD_STARTED_MESSAGE } from './worker-messages.ts'
import type { WorkerEndpoints, WorkerId } from './worker-messages.ts'

/** From one answer to the next check. */
const CHECK_INTERVAL_MS = 5_000

/** Longer than the largest configuration takes to load. */
const MAX_SILENCE_MS = 60_000

export interface WatchdogOptions {
  readonly log: Log
  /** Kills the process. */
  readonly kill: (pid: number) => void
  readonly checkIntervalMs?: number
  readonly maxSilenceMs?: number
}

/** Kills workers that do not answer: a worker that hangs would still get its share of the connections. */
export class Watchdog implements WorkerService {
  readonly #options: Required<WatchdogOptions>
  readonly #links = new Map<string, ProcessLink>()

  constructor(options: WatchdogOptions) {
    this.#options = { checkIntervalMs: CHECK_INTERVAL_MS, maxSilenceMs: MAX_SILENCE_MS, ...options }
  }

  workerStarted(id: WorkerId, link: ProcessLink): void {
    this.#links.set(workerNameOf(id), link)
  }

  workerReady(worker: WorkerEndpoints): void {
    void this.#watch(worker)
  }

  workerGone(id: WorkerId): void {
    this.#links.delete(workerNameOf(id))
  }

  async #watch(worker: WorkerEndpoints): Promise<void> {
    const { checkIntervalMs, maxSilenceMs, log, kill } = this.#options
    for (;;) {
      const link = this.#links.get(workerNameOf(worker))
      if (link === undefined) return
      try {
        await link.request(ALIVE_MESSAGE, null, maxSilenceMs)
      } catch {
        // The worker has ended, which the supervisor reports.
        if (link.isClosed) return
        log.write('error', 'gateway', 'worker does not respond', [
          'worker',
          worker.slot,
          'silent',
          `${maxSilenceMs}ms`,
        ])
        return kill(worker.pid)
      }
      await wait(checkIntervalMs, undefined, { ref: false })
    }
  }
}

/** Milliseconds from SIGTERM to SIGKILL. */
const TERM_GRACE = 3_000

/** More than a worker may have; further ones are not ended. */
const MAX_CHILDREN = 65_536

/** Leaders of process groups by pid, with their start time because the system reuses pids. */
type ProcessGroups = Map<number, string | null>

/** Ends child processes of dead workers: those that ignore the end of their input would run on. */
export class OrphanedChildren implements WorkerService {
  readonly #grace: number
  readonly #children = new Map<string, ProcessGroups>()
  /** Process groups that got SIGTERM. */
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
    for (const [pid, startedAt] of groups) {
      signalProcessGroup(pid, startedAt, 'SIGTERM')
      this.#ending.set(pid, startedAt)
      setTimeout(() => this.#kill(pid, startedAt), this.#grace).unref()
    }
  }

  /** Synchronous, for a process that exits now. */
  killAll(): void {
    for (const [pid, startedAt] of this.#ending) this.#kill(pid, startedAt)
  }

  #kill(pid: number, startedAt: string | null): void {
    if (this.#ending.delete(pid)) signalProcessGroup(pid, startedAt, 'SIGKILL')
  }
}

/** The system does not reuse the number of a process group while it has a member, with or without its leader. */
function signalProcessGroup(pid: number, startedAt: string | null, name: NodeJS.Signals): void {
  const now = processStartTime(pid)
  if (!Number.isSafeInteger(pid) || pid <= 1 || (now !== null && now !== startedAt)) return
  try {
    process.kill(-pid, name)
  } catch {
    // The process group has ended.
  }
}

/** In clock ticks of Linux; null on other systems, or when there is no such process. */
function processStartTime(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
