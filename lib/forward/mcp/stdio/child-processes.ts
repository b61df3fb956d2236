// All child processes of the gateway: how many there may be, what is known of them, and that none is left behind.

import type { McpLimits } from '../../../core/bounds.ts'
import type { ChildProcessView } from '../../../core/runtime-views.ts'
import type { Log } from '../../../core/log.ts'
import type { TargetLink, TargetLinkOwner } from '../target-link.ts'
import { McpChildProcess } from './child-process.ts'
import type { ChildProcessOwner } from './child-process.ts'
import { GRACE_PERIODS } from './end-child.ts'
import type { GracePeriods } from './end-child.ts'
import { startChildProcess } from './start-child.ts'
import type { StdioTarget } from './start-child.ts'

/** A child that never was; its owner hears so. */
const FAILED_CHILD_LINK: TargetLink = {
  send: ({ bytes, traced }) => traced?.writtenToChild(bytes),
  forgetRequest() {},
  listen() {},
  pause() {},
  resume() {},
  close() {},
}

/** Hears of every process group, so that another process can end it when this one cannot any more. */
export interface ChildObserver {
  began(pid: number): void
  over(pid: number): void
}

export class ChildProcesses implements ChildProcessOwner, Iterable<ChildProcessView> {
  readonly log: Log
  readonly gracePeriods: GracePeriods
  readonly maxMessageBytes: number
  readonly #maxChildren: number
  /** Null where there is nobody else. */
  readonly #observer: ChildObserver | null
  /** Until the last process of their groups is gone. */
  readonly #alive = new Set<McpChildProcess>()
  #state: 'open' | 'closed' = 'open'
  #whenEmpty: (() => void)[] = []

  constructor(
    limits: Pick<McpLimits, 'maxChildren' | 'maxMessageBytes'>,
    log: Log,
    graces: GracePeriods = GRACE_PERIODS,
    witness: ChildObserver | null = null,
  ) {
    this.log = log
    this.gracePeriods = graces
    this.maxMessageBytes = limits.maxMessageBytes
    this.#maxChildren = limits.maxChildren
    this.#observer = witness
  }

  /** Counts those that are ending, too. */
  get count(): number {
    return this.#alive.size
  }

  /** The link to a new child; or why no more are started now, which is the gateway's doing and not the target's. */
  open(target: StdioTarget, owner: TargetLinkOwner): TargetLink | string {
    const { name } = target
    if (this.#state === 'closed') return `target '${name}' is not started: the gateway is stopping`
    if (this.#alive.size >= this.#maxChildren) {
      const bound = `${this.#maxChildren} child processes are running (config.mcp.maxChildren)`
      return `target '${name}' is not started: ${bound}`
    }
    const process = startChildProcess(target, (why) => this.#failed(name, why, owner))
    if (process === null) return FAILED_CHILD_LINK
    const child = new McpChildProcess(this, target, process, owner)
    this.#alive.add(child)
    this.#observer?.began(child.pid)
    this.log.write('info', 'mcp', 'started child', [
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

  *[Symbol.iterator](): Iterator<ChildProcessView> {
    const now = performance.now()
    for (const child of this.#alive) {
      const { pid, target, label: session, since, state } = child
      const lastStderr = (lines?: number): readonly string[] => child.lastStderr(lines)
      yield { pid, target, session, age: Math.round(now - since), state, lastStderr }
    }
  }

  ended(child: McpChildProcess): void {
    this.#alive.delete(child)
    this.#observer?.over(child.pid)
    this.#logEnd(child)
    if (this.#alive.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  #failed(name: string, why: string, owner: TargetLinkOwner): void {
    this.log.write('warn', 'mcp', 'cannot start child', ['target', name, 'error', why])
    owner.closed(`target '${name}' could not be started: ${why}`)
  }

  #logEnd({ target, pid, label, exitCode, exitSignal, since }: McpChildProcess): void {
    const isGone = exitCode !== null || exitSignal !== null
    const level = isGone ? 'info' : 'error'
    this.log.write(level, 'mcp', isGone ? 'child exited' : 'child cannot be ended', [
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
