// The runtime state for operators: its types, and how many entries of each list are shown. Ages are in milliseconds.

import { readFileSync } from 'node:fs'
import type { Exchange } from './exchange.ts'
import type { ChildProcessState, LimitedList, SessionView } from './runtime-types.ts'

/** Entries of one level that are shown; further ones are only counted. */
export const MAX_LISTED_ENTRIES = 100
const MAX_PATH_LENGTH = 256

export function limitList<T, View>(all: Iterable<T>, view: (one: T) => View): LimitedList<View> {
  const shown: View[] = []
  let more = 0
  for (const one of all) {
    if (shown.length < MAX_LISTED_ENTRIES) shown.push(view(one))
    else more++
  }
  return { shown, more }
}

/** `request`: the request body waits for the gateway or the backend. `answer`: the client does not read the response. */
export type PausedDirection = 'request' | 'answer'

export interface ExchangeView {
  readonly phase: Exchange['phase']
  readonly age: number
  readonly method: string
  /** The path without its query. */
  readonly path: string
  readonly listener: string
  readonly route: string
  readonly endpoint: string
  /** 0 until there is a response. */
  readonly status: number
  /** Bytes of the response body. */
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
  /** Connections since the listener was opened. */
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
  /** Of both protocols, including connections being opened. */
  readonly open: number
  readonly idle: number
  /** HTTP/2 connections, each for many requests. */
  readonly sessions: number
  /** Requests that wait for a connection. */
  readonly waiting: number
}

/** The health of a backend as its callers see it. */
export interface BackendHealthView {
  /** Connections to it; null if it has no pool. */
  readonly pool: Pick<PoolView, 'open' | 'idle' | 'waiting'> | null
  readonly problems: readonly string[]
}

export interface ChildProcessView {
  readonly pid: number
  readonly target: string
  /** The start of its session's id. */
  readonly session: string
  readonly age: number
  readonly state: string
  /** The latest lines, or all that are kept, redacted; redaction takes a while. */
  readonly lastStderr: (lines?: number) => readonly string[]
  /** The worker that has it, if there are several. */
  readonly worker?: number
}

/** Why a target could not be started or reached when it was last needed. */
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

/** Bytes that requests hold together, and the limit. */
export interface BudgetView {
  readonly used: number
  readonly most: number
}

/** The load now. It looks at all connections, so it is computed every second only while a client reads it. */
export interface CurrentLoad {
  readonly connections: number
  readonly requests: number
  readonly streams: number
  /** Of the open ports. */
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface BucketCounts {
  readonly rules: number
  readonly buckets: number
  readonly evicted: number
}

/** The runtime state of the whole process. */
export interface LiveSnapshot {
  readonly listeners: readonly ListenerView[]
  /** The totals of listeners that are closed. */
  readonly closedListeners: readonly ListenerCounts[]
  readonly requests: Readonly<Record<Exchange['phase'], number>>
  /** Responses in progress that are event streams. */
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
    path: (query < 0 ? originalTarget : originalTarget.slice(0, query)).slice(0, MAX_PATH_LENGTH),
    listener,
    route,
    endpoint,
    status,
    bytesOut: client.bytesWritten,
    paused,
  }
}

/** How many stderr lines of a child are shown, and how much of each. */
const STDERR_LINES = 5
const STDERR_LINE_LENGTH = 300

export function describeChildProcess({
  lastStderr,
  ...child
}: ChildProcessView): ChildProcessState {
  const lines = lastStderr(STDERR_LINES).map((line) => line.slice(0, STDERR_LINE_LENGTH))
  return { ...child, rss: readResidentMemory(child.pid), lastStderr: lines }
}

/** Null where the system does not report it, or the process has just exited. */
function readResidentMemory(pid: number): number | null {
  if (process.platform !== 'linux') return null
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? null : Number(found[1]) * 1024
  } catch {
    return null
  }
}
