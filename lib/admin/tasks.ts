// /debug/tasks: the live tree of the process: who is connected, what each request waits for, which sessions and child
// processes there are.

import type { Endpoints } from '../base/endpoints.ts'
import { childState } from '../base/live/child-state.ts'
import { MAX_SHOWN, someOf } from '../base/live/views.ts'
import type {
  ChildView,
  ConnectionView,
  GroupView,
  ListenerView,
  Live,
} from '../base/live/views.ts'
import { answerJson } from './server.ts'

export function tasksEndpoints(live: () => Live): Endpoints {
  return {
    '/debug/tasks': { GET: (_request, response) => answerJson(response, tasksOf(live())) },
  }
}

export function tasksOf(live: Live): unknown {
  const pools = someOf(live.pools, (pool) => pool)
  return {
    captured_at_unix_ms: Date.now(),
    listeners: live.listeners.map(listenerOf),
    mcp: mcpOf(live),
    pools: pools.shown,
    ...more('pools_more', pools.more),
    trace_watchers: live.watchers,
    resources: resources(),
  }
}

function listenerOf({ bytesIn, bytesOut, connections, ...listener }: ListenerView): unknown {
  return {
    ...listener,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    connections: connections.shown.map(connectionOf),
    ...more('more', connections.more),
  }
}

function connectionOf(connection: ConnectionView): unknown {
  const { age, bytesIn, bytesOut, exchanges, ...rest } = connection
  return {
    ...rest,
    age_ms: age,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    exchanges: exchanges.shown.map(
      ({ age: since, bytesOut: sent, endpoint, paused, ...exchange }) => ({
        ...exchange,
        backend: endpoint,
        age_ms: since,
        bytes_out: sent,
        paused: paused.join(),
      }),
    ),
    ...more('more', exchanges.more),
  }
}

/** A child stands below its session; one whose session is over stands by itself until it has ended. */
function mcpOf({ groups, children }: Live): unknown {
  const shown = children.slice(0, MAX_SHOWN).map(childOf)
  const known = new Set(groups.flatMap(({ sessions }) => sessions.shown.map(({ id }) => id)))
  return {
    backends: groups.map((group) => groupOf(group, shown)),
    other_children: shown.filter(({ session }) => !known.has(session)),
    ...more('children_more', children.length - shown.length),
  }
}

function groupOf({ backend, open, sessions }: GroupView, children: readonly Child[]): unknown {
  return {
    backend,
    open,
    sessions: sessions.shown.map(({ id, age, idle, ...session }) => ({
      id,
      ...session,
      age_ms: age,
      idle_ms: idle,
      children: children.filter((child) => child.session === id),
    })),
    ...more('more', sessions.more),
  }
}

type Child = ReturnType<typeof childOf>

function childOf(view: ChildView) {
  const { age, rss, lastStderr, ...child } = childState(view)
  return { ...child, age_ms: age, rss_bytes: rss, last_stderr: lastStderr }
}

/** Timers, sockets and the like of this process, by what Node calls them. */
export function resources(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

function more(name: string, count: number): Record<string, number> {
  return count === 0 ? {} : { [name]: count }
}
