// All child processes of the gateway: starts them within a limit, describes them, and ends them at shutdown.

import type { McpLimits } from '../../../core/bounds.ts'
import type { ChildProcessView } from '../../../core/runtime-views.ts'
import type { Log } from '../../../core/log.ts'
import { MAX_EVICTED_CHILDREN } from '../mcp-bounds.ts'
import type { TargetLink, TargetLinkOwner } from '../target-link.ts'
import { McpChildProcess } from './child-process.ts'
import type { ChildProcessOwner } from './child-process.ts'
import { GRACE_PERIODS } from './end-child.ts'
import type { GracePeriods } from './end-child.ts'
import { startChildProcess } from './start-child.ts'
import type { StdioTarget } from './start-child.ts'

/** The link to a child that failed to start; its owner gets `closed`. */
const FAILED_CHILD_LINK: TargetLink = {
  send: ({ bytes, traced }) => traced?.writtenToChild(bytes),
  forgetRequest() {},
  listen() {},
  pause() {},
  resume() {},
  close() {},
}

/** Is notified of every process group, so that the supervisor can kill it if this process dies. */
export interface ChildObserver {
  began(pid: number): void
  over(pid: number): void
}

export class ChildProcesses implements ChildProcessOwner, Iterable<ChildProcessView> {
  readonly log: Log
  readonly gracePeriods: GracePeriods
  readonly maxMessageBytes: number
  readonly #maxChildren: number
  /** Null with a single process. */
  readonly #observer: ChildObserver | null
  /** Children stay here until the last process of their group is gone. */
  readonly #alive = new Set<McpChildProcess>()
  /** The part of these whose session was ended to make room for another. */
  readonly #evicted = new Set<McpChildProcess>()
  #state: 'open' | 'closed' = 'open'
  #whenEmpty: (() => void)[] = []

  constructor(
    limits: Pick<McpLimits, 'maxChildren' | 'maxMessageBytes'>,
    log: Log,
    gracePeriods: GracePeriods = GRACE_PERIODS,
    observer: ChildObserver | null = null,
  ) {
    this.log = log
    this.gracePeriods = gracePeriods
    this.maxMessageBytes = limits.maxMessageBytes
    this.#maxChildren = limits.maxChildren
    this.#observer = observer
  }

  /** Includes children that are ending. */
  get count(): number {
    return this.#alive.size
  }

  /** How many more children may be started. Evicted children do not count: a new session must not wait for their end. */
  get left(): number {
    return this.#maxChildren - (this.#alive.size - this.#evicted.size)
  }

  /** How many more children may be evicted before the first of them has exited. */
  get evictable(): number {
    return Math.min(this.#maxChildren, MAX_EVICTED_CHILDREN) - this.#evicted.size
  }

  /** This session is about to end to make room for another. */
  evict(session: object): void {
    for (const child of this.#alive) if (child.session === session) this.#evicted.add(child)
  }

  /** Returns a link to a new child, or the reason why the gateway starts none now. */
  open(target: StdioTarget, owner: TargetLinkOwner): TargetLink | string {
    const { name } = target
    if (this.#state === 'closed') return `target '${name}' is not started: the gateway is stopping`
    if (this.left <= 0) {
      const bound = `${this.#maxChildren} child processes are running (config.mcp.maxChildren)`
      return `target '${name}' is not started: ${bound}`
    }
    const process = startChildProcess(target, (reason) => this.#failed(name, reason, owner))
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

  /** Ends all children and starts no more; takes at most the grace periods. */
  async closeAll(): Promise<void> {
    this.#state = 'closed'
    for (const child of this.#alive) child.close()
    if (this.#alive.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Sends SIGKILL to every group before it returns, for a process that exits at once. */
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
    this.#evicted.delete(child)
    this.#observer?.over(child.pid)
    this.#logEnd(child)
    if (this.#alive.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  #failed(name: string, reason: string, owner: TargetLinkOwner): void {
    this.log.write('warn', 'mcp', 'cannot start child', ['target', name, 'error', reason])
    owner.closed(`target '${name}' could not be started: ${reason}`)
  }

  #logEnd({ target, pid, label, exitCode, exitSignal, since }: McpChildProcess): void {
    const hasExited = exitCode !== null || exitSignal !== null
    const level = hasExited ? 'info' : 'error'
    this.log.write(level, 'mcp', hasExited ? 'child exited' : 'child could not be killed', [
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
