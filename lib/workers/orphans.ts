// Ends what a dead worker left running: child processes that do not end with their input would stay for ever.

import { readFileSync } from 'node:fs'
import type { Link } from '../base/processes/link.ts'
import { workerName } from '../base/processes/session-mark.ts'
import { CHILD, CHILDLESS } from './messages.ts'
import type { WorkerService } from './supervisor.ts'
import type { WorkerId } from './types.ts'

/** From SIGTERM to SIGKILL. */
const TERM_GRACE = 3_000

/** More than a worker may have; what is above is not looked after. */
const MAX_CHILDREN = 65_536

/** Each leads a group; by its number, and when it began, for numbers are given again. */
type Groups = Map<number, string | null>

export class Orphans implements WorkerService {
  readonly #grace: number
  readonly #children = new Map<string, Groups>()
  /** Told to end. */
  readonly #ending: Groups = new Map()

  constructor(grace = TERM_GRACE) {
    this.#grace = grace
  }

  born(id: WorkerId, link: Link): void {
    const groups: Groups = new Map()
    this.#children.set(workerName(id), groups)
    link.on(CHILD, (pid) => {
      if (groups.size < MAX_CHILDREN) groups.set(Number(pid), beginOf(Number(pid)))
    })
    link.on(CHILDLESS, (pid) => groups.delete(Number(pid)))
  }

  gone(id: WorkerId): void {
    const groups = this.#children.get(workerName(id)) ?? new Map<number, string | null>()
    this.#children.delete(workerName(id))
    for (const [pid, begun] of groups) {
      signal(pid, begun, 'SIGTERM')
      this.#ending.set(pid, begun)
      setTimeout(() => this.#kill(pid, begun), this.#grace).unref()
    }
  }

  /** Before it returns: for a process that exits now. */
  killAll(): void {
    for (const [pid, begun] of this.#ending) this.#kill(pid, begun)
  }

  #kill(pid: number, begun: string | null): void {
    if (this.#ending.delete(pid)) signal(pid, begun, 'SIGKILL')
  }
}

/** The number of a group is not given again as long as one of it is there, with or without its leader. */
function signal(pid: number, begun: string | null, name: NodeJS.Signals): void {
  const now = beginOf(pid)
  if (!Number.isSafeInteger(pid) || pid <= 1 || (now !== null && now !== begun)) return
  try {
    process.kill(-pid, name)
  } catch {
    // Nobody is left.
  }
}

/** As Linux counts; null where the system does not tell, or there is no such process. */
function beginOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
