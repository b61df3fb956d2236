// Every MCP backend with its sessions, beside the plans that name them: one that a new plan leaves as it was keeps its
// sessions, any other lets them end.

import { createHash } from 'node:crypto'
import { Budget } from '../../base/bounds/budget.ts'
import type { McpLimits } from '../../base/bounds/limits.ts'
import type { Refusals } from '../../base/bounds/refusals.ts'
import { Shares } from '../../base/bounds/shares.ts'
import type { McpConfig, McpTarget } from '../../base/config/mcp-types.ts'
import { Secret } from '../../base/config/secret.ts'
import type { GroupView } from '../../base/live/views.ts'
import type { Log } from '../../base/log/log.ts'
import { Sweeper } from '../../base/sweeper.ts'
import { originOf } from '../http/origin.ts'
import type { Pools } from '../http/pools.ts'
import { HEAD_DELAY_MS } from './bounds.ts'
import { Group } from './group.ts'
import type { GroupSurroundings } from './group.ts'
import { LegacyLink } from './remote/legacy.ts'
import { StreamableLink } from './remote/streamable.ts'
import type { Session } from './session/session.ts'
import { Children } from './stdio/children.ts'
import type { ChildWitness } from './stdio/children.ts'
import type { Link, LinkOwner } from './types.ts'

const STOPPING = 'the gateway is stopping'

/** What is not MCP's alone. */
interface Shared {
  /** What sessions may keep together for clients that come back. */
  readonly histories: Budget
  readonly refusals: Refusals
  /** What ids of sessions end with. */
  readonly mark: string
  readonly witness: ChildWitness | null
}

export class Groups implements GroupSurroundings {
  readonly mark: string
  readonly limits: McpLimits
  readonly log: Log
  readonly sessions: Sweeper<Session>
  readonly children: Children
  readonly bodies: Budget
  readonly refusals: Refusals
  readonly shares = { sessions: new Shares(), children: new Shares() }
  readonly histories: Budget
  readonly #pools: Pools
  readonly #groups = new Map<string, Group>()
  /** Remote sessions that are being ended, each within its deadline. */
  readonly #leaving = new Set<Promise<void>>()

  constructor(limits: McpLimits, log: Log, pools: Pools, shared: Shared) {
    const { histories, refusals, mark, witness } = shared
    this.mark = mark
    this.limits = limits
    this.histories = histories
    this.refusals = refusals
    this.bodies = new Budget(limits.maxReadTogether)
    this.log = log
    this.#pools = pools
    this.children = new Children(limits, log, undefined, witness)
    const { sessionTtl, goneTtl, keepAlive } = limits
    const silence = keepAlive === 0 ? sessionTtl : keepAlive
    this.sessions = new Sweeper(Math.min(sessionTtl, goneTtl, silence, HEAD_DELAY_MS))
  }

  /** The group of a backend; `key` tells it from others with the same targets. */
  of(key: string, config: McpConfig): Group {
    const whole = `${key} ${digestOf(config)}`
    let group = this.#groups.get(whole)
    if (group === undefined) {
      group = new Group(key, config, this)
      this.#groups.set(whole, group)
    }
    return group
  }

  /** Forgets every group but these. */
  retain(groups: ReadonlySet<Group>): void {
    for (const [key, group] of this.#groups) {
      if (groups.has(group)) continue
      this.#groups.delete(key)
      group.retire()
    }
  }

  /** Those that are named, and the sessions of those that no longer are. */
  describe(now: number): GroupView[] {
    const named = [...this.#groups.values()]
    const retired = [...this.sessions.members].map(({ group }) => group)
    return [...new Set([...named, ...retired])].map((group) => group.describe(now))
  }

  childrenLeft(): number {
    return this.limits.maxChildren - this.children.count
  }

  open(target: McpTarget, owner: LinkOwner): Link | string {
    if (target.kind === 'stdio') {
      if (this.childrenLeft() <= 0) this.refusals.count('maxChildren', this.limits.maxChildren)
      return this.children.open(target, owner)
    }
    const { host, port, tls } = target
    const pool = this.#pools.of(originOf({ kind: 'tcp', host, port }, tls))
    const leaving = (over: Promise<void>): void => this.#see(over)
    const remote = { target, pool, limits: this.limits, log: this.log, leaving }
    return target.kind === 'mcp' ? new StreamableLink(remote, owner) : new LegacyLink(remote, owner)
  }

  /** The process stops: streams that would never end by themselves do. */
  drain(): void {
    for (const session of this.sessions.members) session.drain(STOPPING)
  }

  /** Ends every session, and resolves when the last child is gone. */
  async close(): Promise<void> {
    for (const session of this.sessions.members) session.end(STOPPING)
    await Promise.all([this.children.closeAll(), ...this.#leaving])
  }

  #see(over: Promise<void>): void {
    const seen = over.finally(() => this.#leaving.delete(seen))
    this.#leaving.add(seen)
  }
}

/** Tells configurations apart without holding the secrets that are among them. */
function digestOf(config: McpConfig): string {
  const text = JSON.stringify(
    config,
    function (this: Record<string, unknown>, key, shown: unknown) {
      const value = this[key]
      return value instanceof Secret ? value.reveal() : shown
    },
  )
  return createHash('sha256').update(text).digest('base64')
}
