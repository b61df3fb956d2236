// All MCP backends with their sessions. A backend that a config reload does not change keeps its sessions; the sessions
// of a changed or removed backend end after their last call.

import { createHash } from 'node:crypto'
import { ByteBudget, KeyedCounter } from '../../core/byte-budgets.ts'
import type { McpLimits } from '../../core/bounds.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import type { McpConfig, McpTarget } from '../../config/backend-types.ts'
import { Secret } from '../../text/secret.ts'
import type { McpGroupView } from '../../core/runtime-views.ts'
import type { Log } from '../../core/log.ts'
import { Sweeper } from '../../core/sweeper.ts'
import { createOrigin } from '../http/pools.ts'
import type { ConnectionPools } from '../http/pools.ts'
import { HEAD_DELAY_MS } from './mcp-bounds.ts'
import { McpGroup } from './mcp-group.ts'
import type { ChildRequest, ClientChildren, McpGroupContext } from './mcp-group.ts'
import { SseLink } from './remote/sse-link.ts'
import { StreamableLink } from './remote/streamable-link.ts'
import type { McpSession } from './session/session.ts'
import { ChildProcesses } from './stdio/child-processes.ts'
import type { ChildObserver } from './stdio/child-processes.ts'
import type { TargetLink, TargetLinkOwner } from './target-link.ts'

const STOPPING_REASON = 'the gateway is stopping'

/** Resources that the rest of the gateway owns. */
interface McpSharedResources {
  /** Budget for the events that all sessions keep for reconnecting clients. */
  readonly histories: ByteBudget
  readonly refusals: RefusalCounter
  readonly sessionIdSuffix: string
  readonly childObserver: ChildObserver | null
}

export class McpGroups implements McpGroupContext {
  readonly sessionIdSuffix: string
  readonly limits: McpLimits
  readonly log: Log
  readonly sessions: Sweeper<McpSession>
  readonly children: ChildProcesses
  readonly bodies: ByteBudget
  readonly refusals: RefusalCounter
  readonly shares = { sessions: new KeyedCounter(), children: new KeyedCounter() }
  readonly histories: ByteBudget
  readonly #pools: ConnectionPools
  readonly #groups = new Map<string, McpGroup>()
  /** Remote sessions that are being deleted, each within its deadline. */
  readonly #endingSessions = new Set<Promise<void>>()

  constructor(limits: McpLimits, log: Log, pools: ConnectionPools, shared: McpSharedResources) {
    const { histories, refusals, sessionIdSuffix, childObserver } = shared
    this.sessionIdSuffix = sessionIdSuffix
    this.limits = limits
    this.histories = histories
    this.refusals = refusals
    this.bodies = new ByteBudget(limits.maxReadTogether)
    this.log = log
    this.#pools = pools
    this.children = new ChildProcesses(limits, log, undefined, childObserver)
    const { sessionTtl, goneTtl, keepAlive } = limits
    const silence = keepAlive === 0 ? sessionTtl : keepAlive
    this.sessions = new Sweeper(Math.min(sessionTtl, goneTtl, silence, HEAD_DELAY_MS))
  }

  /** The group of a backend; `key` distinguishes backends with the same targets. */
  groupFor(key: string, config: McpConfig): McpGroup {
    const groupKey = `${key} ${digestMcpConfig(config)}`
    let group = this.#groups.get(groupKey)
    if (group === undefined) {
      group = new McpGroup(key, config, this)
      this.#groups.set(groupKey, group)
    }
    return group
  }

  /** Retires every group except these. */
  retain(groups: ReadonlySet<McpGroup>): void {
    for (const [key, group] of this.#groups) {
      if (groups.has(group)) continue
      this.#groups.delete(key)
      group.retire()
    }
  }

  /** Describes the configured groups and the retired groups that still have sessions. */
  describe(now: number): McpGroupView[] {
    const configured = [...this.#groups.values()]
    const withSessions = [...this.sessions.members].map(({ group }) => group)
    return [...new Set([...configured, ...withSessions])].map((group) => group.describe(now))
  }

  childrenLeft(): number {
    return this.children.left
  }

  evictIdleSessions(request: ChildRequest): boolean {
    const { limit, missing } = request
    if (limit === 'maxChildren' && missing > this.children.evictable) return false
    const evicted: McpSession[] = []
    let freed = 0
    for (const session of this.#listIdleSessions(request)) {
      if (freed >= missing) break
      evicted.push(session)
      freed += countFreed(session, limit)
    }
    if (freed < missing) return false
    const now = performance.now()
    for (const session of evicted) {
      this.children.evict(session)
      const idle = Math.round((now - session.used) / 1000)
      session.end(`evicted after ${idle} s without a request, because of config.mcp.${limit}`)
    }
    return true
  }

  /** The sessions that may end for this request: those without an open stream first, then by idle time. */
  #listIdleSessions({ limit, client, held }: ChildRequest): McpSession[] {
    const { children } = this.shares
    const isOwn = (session: McpSession): boolean => session.client === client
    // A client takes children only from clients that hold more than it does, so each keeps its share.
    const mayEnd = (session: McpSession): boolean =>
      isOwn(session) || (limit === 'maxChildren' && children.get(session.client) > held)
    return [...this.sessions.members]
      .filter((session) => session.isIdle && countFreed(session, limit) > 0 && mayEnd(session))
      .toSorted((a, b) => Number(a.hasStream) - Number(b.hasStream) || a.used - b.used)
  }

  openLink(target: McpTarget, owner: TargetLinkOwner, held: ClientChildren): TargetLink | string {
    if (target.kind === 'stdio') {
      const request = { limit: 'maxChildren', missing: 1, ...held } as const
      if (this.childrenLeft() <= 0 && !this.evictIdleSessions(request))
        this.refusals.count('maxChildren', this.limits.maxChildren)
      return this.children.open(target, owner)
    }
    const { host, port, tls } = target
    const pool = this.#pools.poolFor(createOrigin({ kind: 'tcp', host, port }, tls))
    const leaving = (ended: Promise<void>): void => this.#trackEnding(ended)
    const remote = { target, pool, limits: this.limits, log: this.log, leaving }
    return target.kind === 'mcp' ? new StreamableLink(remote, owner) : new SseLink(remote, owner)
  }

  /** The process stops: closes the streams that would never end. */
  drain(): void {
    for (const session of this.sessions.members) session.drain(STOPPING_REASON)
  }

  /** Ends every session; resolves when the last child process has exited. */
  async close(): Promise<void> {
    for (const session of this.sessions.members) session.end(STOPPING_REASON)
    await Promise.all([this.children.closeAll(), ...this.#endingSessions])
  }

  #trackEnding(ended: Promise<void>): void {
    const tracked = ended.finally(() => this.#endingSessions.delete(tracked))
    this.#endingSessions.add(tracked)
  }
}

/** By how much the end of a session lowers the count of a limit; the limit per client also counts exited children. */
function countFreed({ group, targets }: McpSession, limit: ChildRequest['limit']): number {
  return limit === 'maxChildren' ? group.countChildren(targets) : group.childrenPerSession
}

/** A hash distinguishes configurations without keeping the secrets in them. */
function digestMcpConfig(config: McpConfig): string {
  const text = JSON.stringify(
    config,
    function (this: Record<string, unknown>, key, shown: unknown) {
      const value = this[key]
      return value instanceof Secret ? value.reveal() : shown
    },
  )
  return createHash('sha256').update(text).digest('base64')
}
