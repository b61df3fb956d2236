// What can be told of what runs, for operators: shapes, and how much of many things is shown. Ages are in milliseconds.

import { readFileSync } from 'node:fs'
import type { Exchange } from './exchange.ts'
import type { ChildProcessState, LimitedList, SessionView } from './runtime-types.ts'

/** Entries of one level that are shown; the others are counted. */
export const MAX_LISTED_ENTRIES = 100
const MAX_PATH = 256

export function limitList<T, View>(all: Iterable<T>, view: (one: T) => View): LimitedList<View> {
  const shown: View[] = []
  let more = 0
  for (const one of all) {
    if (shown.length < MAX_LISTED_ENTRIES) shown.push(view(one))
    else more++
  }
  return { shown, more }
}

/** `request`: what the client sends waits for us or the backend. `answer`: the client does not take it. */
export type PausedDirection = 'request' | 'answer'

export interface ExchangeView {
  readonly phase: Exchange['phase']
  readonly age: number
  readonly method: string
  /** Without its query. */
  readonly path: string
  readonly listener: string
  readonly route: string
  readonly endpoint: string
  /** 0 until there is one. */
  readonly status: number
  /** Of the answer's body. */
  readonly bytesOut: number
  readonly paused: readonly PausedDirection[]
}

export interface ConnectionView {
  readonly id: number
  readonly peer: string
  readonly protocol: 'http/1.1' | 'h2'
  readonly age: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly exchanges: LimitedList<ExchangeView>
}

export interface ListenerCounts {
  readonly bind: string
  readonly state: 'open' | 'draining' | 'closed'
  /** Since it was opened. */
  readonly accepted: number
  readonly open: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface ListenerView extends ListenerCounts {
  readonly connections: LimitedList<ConnectionView>
}

/** Connections to one backend. */
export interface PoolView {
  readonly origin: string
  /** Of either kind, and those under way. */
  readonly open: number
  readonly idle: number
  /** Those that speak HTTP/2, each for many requests. */
  readonly sessions: number
  /** Requests without one. */
  readonly waiting: number
}

/** What is known of a backend by those who call it. */
export interface BackendHealthView {
  /** Of all connections there; null where it has none. */
  readonly pool: Pick<PoolView, 'open' | 'idle' | 'waiting'> | null
  readonly problems: readonly string[]
}

export interface ChildProcessView {
  readonly pid: number
  readonly target: string
  /** The beginning of its session's id. */
  readonly session: string
  readonly age: number
  readonly state: string
  /** So many lines, or all that are kept; without what looks like a credential, which takes a while to look for. */
  readonly lastStderr: (lines?: number) => readonly string[]
  /** Whose it is, where there are several. */
  readonly worker?: number
}

/** Why a target is not there, where it could not be had when it was last wanted. */
export interface TargetFault {
  readonly target: string
  readonly reason: string
}

export interface McpGroupView {
  readonly backend: string
  readonly open: number
  readonly faults: readonly TargetFault[]
  readonly sessions: LimitedList<SessionView>
}

/** What many requests keep at a time, and how much of that there may be. */
export interface BudgetView {
  readonly used: number
  readonly most: number
}

/** How much there is just now: all connections are looked at, so every second only while somebody reads it. */
export interface CurrentLoad {
  readonly connections: number
  readonly requests: number
  readonly streams: number
  /** On the ports that are open. */
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Everything that runs. */
export interface LiveSnapshot {
  readonly listeners: readonly ListenerView[]
  /** What came by ports that are closed. */
  readonly closedListeners: readonly ListenerCounts[]
  readonly requests: Readonly<Record<Exchange['phase'], number>>
  /** Answers under way that are event streams. */
  readonly streams: number
  readonly pools: readonly PoolView[]
  readonly groups: readonly McpGroupView[]
  readonly children: readonly ChildProcessView[]
  readonly limits: BucketCounts
  readonly tokens: number
  readonly held: { readonly llm: BudgetView; readonly mcp: BudgetView }
  readonly watchers: number
}

export function describeExchange(
  exchange: Exchange,
  now: number,
  paused: PausedDirection[],
): ExchangeView {
  const {
    phase,
    request,
    originalTarget,
    choice: { listenerKey: listener, routeKey: route },
    forwarding: { endpoint },
    response: { status },
    client,
  } = exchange
  const query = originalTarget.indexOf('?')
  return {
    phase,
    age: Math.round(now - exchange.startedAt),
    method: request.method,
    path: (query < 0 ? originalTarget : originalTarget.slice(0, query)).slice(0, MAX_PATH),
    listener,
    route,
    endpoint,
    status,
    bytesOut: client.bytesWritten,
    paused,
  }
}

export interface BucketCounts {
  readonly rules: number
  readonly buckets: number
  readonly evicted: number
}

// What is told of a child process: how much memory it has, and what it said last.

/** What a child said last: so many lines, and so much of each. */
const STDERR_LINES = 5
const STDERR_LETTERS = 300

export function describeChildProcess({
  lastStderr,
  ...child
}: ChildProcessView): ChildProcessState {
  const said = lastStderr(STDERR_LINES).map((line) => line.slice(0, STDERR_LETTERS))
  return { ...child, rss: readResidentMemory(child.pid), lastStderr: said }
}

/** Null where the system does not tell, or the process has just gone. */
function readResidentMemory(pid: number): number | null {
  if (process.platform !== 'linux') return null
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? null : Number(found[1]) * 1024
  } catch {
    return null
  }
}
