// What can be told of what runs, for operators: shapes, and how much of many things is shown. Ages are in milliseconds.

import type { Exchange } from '../exchange.ts'
import type { SessionView, Some } from './types.ts'

/** Entries of one level that are shown; the others are counted. */
export const MAX_SHOWN = 100
const MAX_PATH = 256

export function someOf<T, View>(all: Iterable<T>, view: (one: T) => View): Some<View> {
  const shown: View[] = []
  let more = 0
  for (const one of all) {
    if (shown.length < MAX_SHOWN) shown.push(view(one))
    else more++
  }
  return { shown, more }
}

/** `request`: what the client sends waits for us or the backend. `answer`: the client does not take it. */
export type Paused = 'request' | 'answer'

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
  readonly paused: readonly Paused[]
}

export interface ConnectionView {
  readonly id: number
  readonly peer: string
  readonly protocol: 'http/1.1' | 'h2'
  readonly age: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly exchanges: Some<ExchangeView>
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
  readonly connections: Some<ConnectionView>
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
export interface HealthView {
  /** Of all connections there; null where it has none. */
  readonly pool: Pick<PoolView, 'open' | 'idle' | 'waiting'> | null
  readonly problems: readonly string[]
}

export interface ChildView {
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

export interface GroupView {
  readonly backend: string
  readonly open: number
  readonly faults: readonly TargetFault[]
  readonly sessions: Some<SessionView>
}

/** What many requests keep at a time, and how much of that there may be. */
export interface HeldView {
  readonly used: number
  readonly most: number
}

/** How much there is just now: all connections are looked at, so every second only while somebody reads it. */
export interface Pulse {
  readonly connections: number
  readonly requests: number
  readonly streams: number
  /** On the ports that are open. */
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Everything that runs. */
export interface Live {
  readonly listeners: readonly ListenerView[]
  /** What came by ports that are closed. */
  readonly past: readonly ListenerCounts[]
  readonly requests: Readonly<Record<Exchange['phase'], number>>
  /** Answers under way that are event streams. */
  readonly streams: number
  readonly pools: readonly PoolView[]
  readonly groups: readonly GroupView[]
  readonly children: readonly ChildView[]
  readonly limits: BucketCounts
  readonly tokens: number
  readonly held: { readonly llm: HeldView; readonly mcp: HeldView }
  readonly watchers: number
}

export function exchangeView(exchange: Exchange, now: number, paused: Paused[]): ExchangeView {
  const { phase, request, target, listener, route, endpoint, status, client } = exchange
  const query = target.indexOf('?')
  return {
    phase,
    age: Math.round(now - exchange.started),
    method: request.method,
    path: (query < 0 ? target : target.slice(0, query)).slice(0, MAX_PATH),
    listener,
    route,
    endpoint,
    status,
    bytesOut: client.written,
    paused,
  }
}

export interface BucketCounts {
  readonly rules: number
  readonly buckets: number
  readonly forgotten: number
}
