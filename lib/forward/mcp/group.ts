// One MCP backend beyond any plan: its targets and the sessions of its clients, which outlive a reload that leaves it
// as it was.

import { randomUUID } from 'node:crypto'
import type { Budget } from '../../base/bounds/budget.ts'
import type { McpLimits } from '../../base/bounds/limits.ts'
import type { Refusals } from '../../base/bounds/refusals.ts'
import type { Shares } from '../../base/bounds/shares.ts'
import type { McpConfig } from '../../base/config/mcp-types.ts'
import type { SessionView } from '../../base/live/types.ts'
import { someOf } from '../../base/live/views.ts'
import type { GroupView } from '../../base/live/views.ts'
import type { Log } from '../../base/log/log.ts'
import type { Sweeper } from '../../base/sweeper.ts'
import type { Message } from './message.ts'
import type { About, SessionOwner } from './session/about.ts'
import { Session } from './session/session.ts'
import { Names } from './several/names.ts'
import type { Link, LinkOwner } from './types.ts'

/** What all groups of the process share. */
export interface GroupSurroundings {
  /** Of the process among others, at the end of its sessions' ids; '' where it is alone. */
  readonly mark: string
  readonly limits: McpLimits
  readonly log: Log
  readonly bodies: Budget
  /** What sessions keep for clients that come back, over all groups. */
  readonly histories: Budget
  /** Sessions of all groups together. */
  readonly sessions: Sweeper<Session>
  readonly refusals: Refusals
  /** What each client has of them. */
  readonly shares: Readonly<Record<'sessions' | 'children', Shares>>
  /** Room for so many more child processes. */
  childrenLeft(): number
  open(target: McpConfig['targets'][number], owner: LinkOwner): Link | string
}

const WORDS = {
  maxSessions: 'sessions are open',
  maxSessionsPerClient: 'sessions are open for one client',
  maxChildren: 'child processes are alive',
  maxChildrenPerClient: 'child processes are for one client',
} as const

const RETIRED = 'its backend was removed or changed'

/** Why a session ends that nobody was told of. */
export const ONE_REQUEST = 'it was for one request'

export class Group implements SessionOwner {
  /** Of the backend in the configuration. */
  readonly key: string
  readonly config: McpConfig
  readonly limits: McpLimits
  readonly log: Log
  readonly names: Names
  /** What may be read of clients' messages at a time, over all groups. */
  readonly bodies: Budget
  readonly histories: Budget
  readonly refusals: Refusals
  /** Whether some target is reached by HTTP, and hears headers of the client's. */
  readonly isRemote: boolean
  readonly #around: GroupSurroundings
  readonly #sessions = new Map<string, Session>()
  /** Why targets are not there, by name, since they were last seen to be. */
  readonly #faults = new Map<string, string>()
  readonly #children: number
  #state: 'named' | 'retired' = 'named'

  constructor(key: string, config: McpConfig, around: GroupSurroundings) {
    this.key = key
    this.config = config
    this.limits = around.limits
    this.log = around.log
    this.bodies = around.bodies
    this.histories = around.histories
    this.refusals = around.refusals
    this.#around = around
    const names = config.targets.map(({ name }) => name)
    this.names = new Names(config.prefixMode, names)
    this.#children = config.targets.filter(({ kind }) => kind === 'stdio').length
    this.isRemote = this.#children < names.length
  }

  newId(): string {
    return randomUUID() + this.#around.mark
  }

  get sessions(): Iterable<Session> {
    return this.#sessions.values()
  }

  describe(now: number): GroupView {
    return {
      backend: this.key,
      open: this.#sessions.size,
      faults: [...this.#faults].map(([target, reason]) => ({ target, reason })),
      sessions: someOf(this.sessions, (session) => sessionView(session, now)),
    }
  }

  /** A target went down, or did not come up, in one of the sessions. */
  blame(target: string, reason: string): void {
    this.#faults.set(target, reason)
  }

  forgive(target: string): void {
    this.#faults.delete(target)
  }

  /** A session its client may use. */
  find(id: string, principal: string): Session | undefined {
    const session = this.#sessions.get(id)
    return session?.state === 'open' && session.principal === principal ? session : undefined
  }

  /** One of the older transport, which its client knows before it began. */
  findOld(id: string, principal: string): Session | undefined {
    const session = this.#sessions.get(id)
    const isOld = session?.transport === 'old' && session.principal === principal
    return isOld ? session : undefined
  }

  /** A new session; a text says why there is none. */
  begin(greeting: Message, about: About): Session | string {
    const { sessions, shares } = this.#around
    const reached = this.#reachedBy(about.client)
    if (reached !== null) {
      const most = this.limits[reached]
      this.refusals.count(reached, most)
      return `${most} ${WORDS[reached]} (config.mcp.${reached}): try again later`
    }
    const session = new Session(this, greeting, about, this)
    this.#sessions.set(session.id, session)
    sessions.add(session)
    shares.sessions.take(session.client)
    shares.children.take(session.client, this.#children)
    return session
  }

  #reachedBy(client: string): keyof typeof WORDS | null {
    const { sessions, shares } = this.#around
    const { maxSessions, maxSessionsPerClient, maxChildrenPerClient } = this.limits
    if (sessions.members.size >= maxSessions) return 'maxSessions'
    if (shares.sessions.of(client) >= maxSessionsPerClient) return 'maxSessionsPerClient'
    if (this.#children > this.#around.childrenLeft()) return 'maxChildren'
    const wanted = shares.children.of(client) + this.#children
    return this.#children > 0 && wanted > maxChildrenPerClient ? 'maxChildrenPerClient' : null
  }

  open(name: string, owner: LinkOwner): Link | string {
    const target = this.config.targets.find((one) => one.name === name)
    return target === undefined ? `no target '${name}'` : this.#around.open(target, owner)
  }

  ended(session: Session, reason: string): void {
    this.#sessions.delete(session.id)
    this.#around.sessions.delete(session)
    this.#around.shares.sessions.give(session.client)
    this.#around.shares.children.give(session.client, this.#children)
    this.log.line(reason === ONE_REQUEST ? 'debug' : 'info', 'mcp', 'session ended', [
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
    for (const session of this.sessions) session.retire(RETIRED)
  }

  /** A session has its first call. The request for it may have come before the group was retired. */
  begun(session: Session): void {
    if (this.#state === 'retired') session.retire(RETIRED)
  }
}

function sessionView(session: Session, now: number): SessionView {
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
