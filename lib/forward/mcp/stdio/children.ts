// All child processes of the gateway: how many there may be, what is known of them, and that none is left behind.

import type { McpLimits } from '../../../base/bounds/limits.ts'
import type { ChildView } from '../../../base/live/views.ts'
import type { Log } from '../../../base/log/log.ts'
import type { Link, LinkOwner } from '../types.ts'
import { Child } from './child.ts'
import type { ChildHome } from './child.ts'
import { GRACES } from './ending.ts'
import type { Graces } from './ending.ts'
import { start } from './start.ts'
import type { StdioTarget } from './start.ts'

/** A child that never was; its owner hears so. */
const NO_CHILD: Link = {
  send: ({ bytes, traced }) => traced?.written(bytes),
  forget() {},
  listen() {},
  pause() {},
  resume() {},
  close() {},
}

/** Hears of every process group, so that another process can end it when this one cannot any more. */
export interface ChildWitness {
  began(pid: number): void
  over(pid: number): void
}

export class Children implements ChildHome, Iterable<ChildView> {
  readonly log: Log
  readonly graces: Graces
  readonly maxMessageBytes: number
  readonly #most: number
  /** Null where there is nobody else. */
  readonly #witness: ChildWitness | null
  /** Until the last process of their groups is gone. */
  readonly #alive = new Set<Child>()
  #state: 'open' | 'closed' = 'open'
  #whenEmpty: (() => void)[] = []

  constructor(
    limits: Pick<McpLimits, 'maxChildren' | 'maxMessageBytes'>,
    log: Log,
    graces: Graces = GRACES,
    witness: ChildWitness | null = null,
  ) {
    this.log = log
    this.graces = graces
    this.maxMessageBytes = limits.maxMessageBytes
    this.#most = limits.maxChildren
    this.#witness = witness
  }

  /** Counts those that are ending, too. */
  get count(): number {
    return this.#alive.size
  }

  /** The link to a new child; or why no more are started now, which is the gateway's doing and not the target's. */
  open(target: StdioTarget, owner: LinkOwner): Link | string {
    const { name } = target
    if (this.#state === 'closed') return `target '${name}' is not started: the gateway is stopping`
    if (this.#alive.size >= this.#most) {
      const bound = `${this.#most} child processes are running (config.mcp.maxChildren)`
      return `target '${name}' is not started: ${bound}`
    }
    const process = start(target, (why) => this.#failed(name, why, owner))
    if (process === null) return NO_CHILD
    const child = new Child(this, target, process, owner)
    this.#alive.add(child)
    this.#witness?.began(child.pid)
    this.log.line('info', 'mcp', 'started child', [
      'target',
      name,
      'pid',
      child.pid,
      'mcp.session.id',
      child.label,
    ])
    return child
  }

  /** Ends them all, and starts no more. Takes no longer than the graces. */
  async closeAll(): Promise<void> {
    this.#state = 'closed'
    for (const child of this.#alive) child.close()
    if (this.#alive.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Before it returns every group was sent SIGKILL: for a process that exits now. */
  killAll(): void {
    this.#state = 'closed'
    for (const child of this.#alive) child.kill()
  }

  *[Symbol.iterator](): Iterator<ChildView> {
    const now = performance.now()
    for (const child of this.#alive) {
      const { pid, target, label: session, since, state } = child
      const lastStderr = (lines?: number): readonly string[] => child.lastStderr(lines)
      yield { pid, target, session, age: Math.round(now - since), state, lastStderr }
    }
  }

  ended(child: Child): void {
    this.#alive.delete(child)
    this.#witness?.over(child.pid)
    this.#logEnd(child)
    if (this.#alive.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  #failed(name: string, why: string, owner: LinkOwner): void {
    this.log.line('warn', 'mcp', 'cannot start child', ['target', name, 'error', why])
    owner.closed(`target '${name}' could not be started: ${why}`)
  }

  #logEnd({ target, pid, label, exitCode, exitSignal, since }: Child): void {
    const isGone = exitCode !== null || exitSignal !== null
    const level = isGone ? 'info' : 'error'
    this.log.line(level, 'mcp', isGone ? 'child exited' : 'child cannot be ended', [
      'target',
      target,
      'pid',
      pid,
      'mcp.session.id',
      label,
      'code',
      exitCode ?? undefined,
      'signal',
      exitSignal ?? undefined,
      'age',
      `${Math.round(performance.now() - since)}ms`,
    ])
  }
}
