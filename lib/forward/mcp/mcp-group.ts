// One MCP backend with its targets and client sessions; finds a session only for the user who opened it. It outlives a
// config reload that does not change it.

import { randomUUID } from 'node:crypto'
import type { ByteBudget, KeyedCounter } from '../../core/byte-budgets.ts'
import type { McpLimits } from '../../core/bounds.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import type { McpConfig } from '../../config/backend-types.ts'
import type { SessionView } from '../../core/runtime-types.ts'
import { limitList } from '../../core/runtime-views.ts'
import type { McpGroupView } from '../../core/runtime-views.ts'
import type { Log } from '../../core/log.ts'
import { findHeaderSecrets } from '../../text/known-secrets.ts'
import type { Secret } from '../../text/secret.ts'
import type { Sweeper } from '../../core/sweeper.ts'
import type { RpcMessage } from './json-rpc.ts'
import type { SessionClient, McpSessionOwner } from './session/session.ts'
import { McpSession } from './session/session.ts'
import { ItemNames } from './several/item-names.ts'
import type { TargetLink, TargetLinkOwner } from './target-link.ts'

/** A client, and the children that it holds without those that it wants now. */
export interface ClientChildren {
  readonly client: string
  readonly held: number
}

/** A client wants child processes, and `missing` of them exceed a limit. */
export interface ChildRequest extends ClientChildren {
  readonly limit: 'maxChildren' | 'maxChildrenPerClient'
  readonly missing: number
}

/** Resources that all groups of the process share. */
export interface McpGroupContext {
  /** Identifies the worker process at the end of session ids; empty with a single process. */
  readonly sessionIdSuffix: string
  readonly limits: McpLimits
  readonly log: Log
  readonly bodies: ByteBudget
  /** Budget for the events that sessions of all groups keep for reconnecting clients. */
  readonly histories: ByteBudget
  /** The sessions of all groups. */
  readonly sessions: Sweeper<McpSession>
  readonly refusals: RefusalCounter
  /** Sessions and child processes per client. */
  readonly shares: Readonly<Record<'sessions' | 'children', KeyedCounter>>
  /** How many more child processes may be started. */
  childrenLeft(): number
  /** Ends the sessions that are idle longest; returns false and ends none if that does not free enough children. */
  evictIdleSessions(request: ChildRequest): boolean
  openLink(
    target: McpConfig['targets'][number],
    owner: TargetLinkOwner,
    held: ClientChildren,
  ): TargetLink | string
}

const LIMIT_TEXTS = {
  maxSessions: 'sessions are open',
  maxSessionsPerClient: 'sessions are open for one client',
  maxChildren: 'child processes are running',
  maxChildrenPerClient: 'child processes are running for one client',
} as const

const RETIRED_REASON = 'the backend was removed or changed'

/** Why the session of a stateless request ends. */
export const SINGLE_REQUEST_REASON = 'the stateless request is finished'

export class McpGroup implements McpSessionOwner {
  /** The key of the backend in the configuration. */
  readonly key: string
  readonly config: McpConfig
  readonly limits: McpLimits
  readonly log: Log
  readonly names: ItemNames
  /** Budget for the request bodies that are being read, over all groups. */
  readonly bodies: ByteBudget
  readonly histories: ByteBudget
  readonly refusals: RefusalCounter
  /** Whether any target is reached by HTTP and so gets client headers. */
  readonly isRemote: boolean
  /** Credentials that the gateway sends to the targets. */
  readonly secrets: readonly Secret[]
  readonly #context: McpGroupContext
  readonly #sessions = new Map<string, McpSession>()
  /** Why a target is down, by its name; cleared when the target responds. */
  readonly #faults = new Map<string, string>()
  /** Child processes that one session needs. */
  readonly childrenPerSession: number
  #state: 'configured' | 'retired' = 'configured'

  constructor(key: string, config: McpConfig, context: McpGroupContext) {
    this.key = key
    this.config = config
    this.limits = context.limits
    this.log = context.log
    this.bodies = context.bodies
    this.histories = context.histories
    this.refusals = context.refusals
    this.#context = context
    const names = config.targets.map(({ name }) => name)
    this.names = new ItemNames(config.prefixMode, names)
    this.childrenPerSession = config.targets.filter(({ kind }) => kind === 'stdio').length
    this.secrets = config.targets.flatMap(findTargetSecrets)
    this.isRemote = this.childrenPerSession < names.length
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

  /** A target stopped or did not start in one of the sessions. */
  recordTargetFault(target: string, reason: string): void {
    this.#faults.set(target, reason)
  }

  clearTargetFault(target: string): void {
    this.#faults.delete(target)
  }

  /** Finds an open session that belongs to this principal. */
  find(id: string, principal: string): McpSession | undefined {
    const session = this.#sessions.get(id)
    return session?.state === 'open' && session.principal === principal ? session : undefined
  }

  /** Finds a session of the HTTP+SSE transport, whose client knows the id before `initialize`. */
  findLegacy(id: string, principal: string): McpSession | undefined {
    const session = this.#sessions.get(id)
    const isLegacy = session?.transport === 'old' && session.principal === principal
    return isLegacy ? session : undefined
  }

  /** Creates a session, or returns the reason why a limit forbids it. */
  beginSession(initialize: RpcMessage, client: SessionClient): McpSession | string {
    const { sessions, shares } = this.#context
    const reached = this.#makeRoom(client.client)
    if (reached !== null) {
      const limit = this.limits[reached]
      this.refusals.count(reached, limit)
      return `${limit} ${LIMIT_TEXTS[reached]} (config.mcp.${reached}): try again later`
    }
    const session = new McpSession(this, initialize, client, this)
    this.#sessions.set(session.id, session)
    sessions.add(session)
    shares.sessions.add(session.client)
    shares.children.add(session.client, this.childrenPerSession)
    return session
  }

  /** Returns the limit that forbids a session of this client, after idle sessions were evicted where that helps. */
  #makeRoom(client: string): keyof typeof LIMIT_TEXTS | null {
    const { sessions, shares } = this.#context
    const { maxSessions, maxSessionsPerClient } = this.limits
    if (sessions.members.size >= maxSessions) return 'maxSessions'
    if (shares.sessions.get(client) >= maxSessionsPerClient) return 'maxSessionsPerClient'
    const isFull = this.childrenPerSession > this.#context.childrenLeft()
    // The client's own sessions are evicted first.
    if (!this.#makeRoomForChildren('maxChildrenPerClient', client))
      return isFull ? 'maxChildren' : 'maxChildrenPerClient'
    return this.#makeRoomForChildren('maxChildren', client) ? null : 'maxChildren'
  }

  #makeRoomForChildren(limit: ChildRequest['limit'], client: string): boolean {
    const wanted = this.childrenPerSession
    if (wanted === 0) return true
    const held = this.#context.shares.children.get(client)
    // A client may always have one session.
    const most = Math.max(wanted, this.limits.maxChildrenPerClient)
    const left = limit === 'maxChildren' ? this.#context.childrenLeft() : most - held
    const missing = wanted - left
    if (missing <= 0) return true
    if (wanted > this.limits.maxChildren) return false
    return this.#context.evictIdleSessions({ limit, missing, client, held })
  }

  /** How many of these targets of a session are child processes that run now. */
  countChildren(targets: McpSession['targets']): number {
    const { targets: configs } = this.config
    return targets.filter(
      ({ state }, index) =>
        configs[index]?.kind === 'stdio' && (state === 'starting' || state === 'ready'),
    ).length
  }

  openLink(name: string, owner: TargetLinkOwner, client: string): TargetLink | string {
    const target = this.config.targets.find((candidate) => candidate.name === name)
    if (target === undefined) return `unknown target '${name}'`
    const held = this.#context.shares.children.get(client) - this.childrenPerSession
    return this.#context.openLink(target, owner, { client, held })
  }

  ended(session: McpSession, reason: string): void {
    this.#sessions.delete(session.id)
    this.#context.sessions.delete(session)
    this.#context.shares.sessions.subtract(session.client)
    this.#context.shares.children.subtract(session.client, this.childrenPerSession)
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

  /** The backend is no longer configured: each session ends after its last call. */
  retire(): void {
    this.#state = 'retired'
    for (const session of this.sessions) session.retire(RETIRED_REASON)
  }

  /** A session has its first call. Its request may have arrived before the group was retired. */
  sessionBegun(session: McpSession): void {
    if (this.#state === 'retired') session.retire(RETIRED_REASON)
  }
}

function findTargetSecrets(target: McpConfig['targets'][number]): Secret[] {
  if (target.kind === 'stdio') return []
  const { auth, requestHeaderModifier: changes } = target
  const keys = auth === null || auth.kind === 'passthrough' ? [] : [auth.key]
  return changes === null ? keys : [...keys, ...findHeaderSecrets([...changes.set, ...changes.add])]
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
