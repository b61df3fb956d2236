// One MCP backend beyond any plan: its targets and the sessions of its clients, which outlive a reload that leaves it
// as it was.

import { randomUUID } from 'node:crypto'
import type { ByteBudget, KeyedCounter } from '../../core/byte-budgets.ts'
import type { McpLimits } from '../../core/bounds.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import type { McpConfig } from '../../config/backend-types.ts'
import type { SessionView } from '../../core/runtime-types.ts'
import { limitList } from '../../core/runtime-views.ts'
import type { McpGroupView } from '../../core/runtime-views.ts'
import type { Log } from '../../core/log.ts'
import type { Sweeper } from '../../core/sweeper.ts'
import type { RpcMessage } from './json-rpc.ts'
import type { SessionClient, McpSessionOwner } from './session/session.ts'
import { McpSession } from './session/session.ts'
import { ItemNames } from './several/item-names.ts'
import type { TargetLink, TargetLinkOwner } from './target-link.ts'

/** What all groups of the process share. */
export interface McpGroupContext {
  /** Of the process among others, at the end of its sessions' ids; '' where it is alone. */
  readonly sessionIdSuffix: string
  readonly limits: McpLimits
  readonly log: Log
  readonly bodies: ByteBudget
  /** What sessions keep for clients that come back, over all groups. */
  readonly histories: ByteBudget
  /** Sessions of all groups together. */
  readonly sessions: Sweeper<McpSession>
  readonly refusals: RefusalCounter
  /** What each client has of them. */
  readonly shares: Readonly<Record<'sessions' | 'children', KeyedCounter>>
  /** Room for so many more child processes. */
  childrenLeft(): number
  openLink(target: McpConfig['targets'][number], owner: TargetLinkOwner): TargetLink | string
}

const LIMIT_TEXTS = {
  maxSessions: 'sessions are open',
  maxSessionsPerClient: 'sessions are open for one client',
  maxChildren: 'child processes are alive',
  maxChildrenPerClient: 'child processes are for one client',
} as const

const RETIRED_REASON = 'its backend was removed or changed'

/** Why a session ends that nobody was told of. */
export const SINGLE_REQUEST_REASON = 'it was for one request'

export class McpGroup implements McpSessionOwner {
  /** Of the backend in the configuration. */
  readonly key: string
  readonly config: McpConfig
  readonly limits: McpLimits
  readonly log: Log
  readonly names: ItemNames
  /** What may be read of clients' messages at a time, over all groups. */
  readonly bodies: ByteBudget
  readonly histories: ByteBudget
  readonly refusals: RefusalCounter
  /** Whether some target is reached by HTTP, and hears headers of the client's. */
  readonly isRemote: boolean
  readonly #context: McpGroupContext
  readonly #sessions = new Map<string, McpSession>()
  /** Why targets are not there, by name, since they were last seen to be. */
  readonly #faults = new Map<string, string>()
  readonly #children: number
  #state: 'named' | 'retired' = 'named'

  constructor(key: string, config: McpConfig, around: McpGroupContext) {
    this.key = key
    this.config = config
    this.limits = around.limits
    this.log = around.log
    this.bodies = around.bodies
    this.histories = around.histories
    this.refusals = around.refusals
    this.#context = around
    const names = config.targets.map(({ name }) => name)
    this.names = new ItemNames(config.prefixMode, names)
    this.#children = config.targets.filter(({ kind }) => kind === 'stdio').length
    this.isRemote = this.#children < names.length
  }

  newId(): string {
    return randomUUID() + this.#context.sessionIdSuffix
  }

  get sessions(): Iterable<McpSession> {
    return this.#sessions.values()
  }

  describe(now: number): McpGroupView {
    return {
      backend: this.key,
      open: this.#sessions.size,
      faults: [...this.#faults].map(([target, reason]) => ({ target, reason })),
      sessions: limitList(this.sessions, (session) => describeSession(session, now)),
    }
  }

  /** A target went down, or did not come up, in one of the sessions. */
  recordTargetFault(target: string, reason: string): void {
    this.#faults.set(target, reason)
  }

  clearTargetFault(target: string): void {
    this.#faults.delete(target)
  }

  /** A session its client may use. */
  find(id: string, principal: string): McpSession | undefined {
    const session = this.#sessions.get(id)
    return session?.state === 'open' && session.principal === principal ? session : undefined
  }

  /** One of the older transport, which its client knows before it began. */
  findLegacy(id: string, principal: string): McpSession | undefined {
    const session = this.#sessions.get(id)
    const isOld = session?.transport === 'old' && session.principal === principal
    return isOld ? session : undefined
  }

  /** A new session; a text says why there is none. */
  beginSession(greeting: RpcMessage, about: SessionClient): McpSession | string {
    const { sessions, shares } = this.#context
    const reached = this.#limitReachedBy(about.client)
    if (reached !== null) {
      const most = this.limits[reached]
      this.refusals.count(reached, most)
      return `${most} ${LIMIT_TEXTS[reached]} (config.mcp.${reached}): try again later`
    }
    const session = new McpSession(this, greeting, about, this)
    this.#sessions.set(session.id, session)
    sessions.add(session)
    shares.sessions.add(session.client)
    shares.children.add(session.client, this.#children)
    return session
  }

  #limitReachedBy(client: string): keyof typeof LIMIT_TEXTS | null {
    const { sessions, shares } = this.#context
    const { maxSessions, maxSessionsPerClient, maxChildrenPerClient } = this.limits
    if (sessions.members.size >= maxSessions) return 'maxSessions'
    if (shares.sessions.get(client) >= maxSessionsPerClient) return 'maxSessionsPerClient'
    if (this.#children > this.#context.childrenLeft()) return 'maxChildren'
    const wanted = shares.children.get(client) + this.#children
    return this.#children > 0 && wanted > maxChildrenPerClient ? 'maxChildrenPerClient' : null
  }

  openLink(name: string, owner: TargetLinkOwner): TargetLink | string {
    const target = this.config.targets.find((one) => one.name === name)
    return target === undefined ? `no target '${name}'` : this.#context.openLink(target, owner)
  }

  ended(session: McpSession, reason: string): void {
    this.#sessions.delete(session.id)
    this.#context.sessions.delete(session)
    this.#context.shares.sessions.subtract(session.client)
    this.#context.shares.children.subtract(session.client, this.#children)
    this.log.write(reason === SINGLE_REQUEST_REASON ? 'debug' : 'info', 'mcp', 'session ended', [
      'mcp.session.id',
      session.label,
      'reason',
      reason,
      'backend',
      this.key,
      'age',
      `${Math.round(performance.now() - session.started)}ms`,
    ])
  }

  /** No configuration names it any more: each session ends with its last call. */
  retire(): void {
    this.#state = 'retired'
    for (const session of this.sessions) session.retire(RETIRED_REASON)
  }

  /** A session has its first call. The request for it may have come before the group was retired. */
  sessionBegun(session: McpSession): void {
    if (this.#state === 'retired') session.retire(RETIRED_REASON)
  }
}

function describeSession(session: McpSession, now: number): SessionView {
  const { label, state, started, used, counts, targets } = session
  return {
    id: label,
    state,
    age: Math.round(now - started),
    idle: Math.round(now - used),
    calls: counts.calls,
    channels: counts.channels,
    targets: targets.map((target) => ({ name: target.name, state: target.state })),
  }
}
