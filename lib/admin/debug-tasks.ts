// /debug/tasks: a tree of open connections with the state of each request, sessions and child processes.

import type { EndpointTable } from './endpoint-types.ts'
import { describeChildProcess, limitList, MAX_LISTED_ENTRIES } from '../core/runtime-views.ts'
import type {
  ChildProcessView,
  ConnectionView,
  McpGroupView,
  ListenerView,
  LiveSnapshot,
} from '../core/runtime-views.ts'
import { sendJson } from './admin-server.ts'

export function createTasksEndpoints(live: () => LiveSnapshot): EndpointTable {
  return {
    '/debug/tasks': { GET: (_request, response) => sendJson(response, describeTasks(live())) },
  }
}

export function describeTasks(live: LiveSnapshot): unknown {
  const pools = limitList(live.pools, (pool) => pool)
  return {
    captured_at_unix_ms: Date.now(),
    listeners: live.listeners.map(describeListener),
    mcp: describeMcp(live),
    pools: pools.shown,
    ...countFieldUnlessZero('pools_more', pools.more),
    trace_watchers: live.watchers,
    resources: countResources(),
  }
}

function describeListener({ bytesIn, bytesOut, connections, ...listener }: ListenerView): unknown {
  return {
    ...listener,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    connections: connections.shown.map(describeConnection),
    ...countFieldUnlessZero('more', connections.more),
  }
}

function describeConnection(connection: ConnectionView): unknown {
  const { age, bytesIn, bytesOut, exchanges, ...rest } = connection
  return {
    ...rest,
    age_ms: age,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    exchanges: exchanges.shown.map(
      ({ age: ageMs, bytesOut: exchangeBytesOut, endpoint, paused, ...exchange }) => ({
        ...exchange,
        backend: endpoint,
        age_ms: ageMs,
        bytes_out: exchangeBytesOut,
        paused: paused.join(),
      }),
    ),
    ...countFieldUnlessZero('more', exchanges.more),
  }
}

/** Children are listed under their session; those whose session has ended are listed in `other_children` until they exit. */
function describeMcp({ groups, children }: LiveSnapshot): unknown {
  const shown = children.slice(0, MAX_LISTED_ENTRIES).map(describeChild)
  const shownSessionIds = new Set(
    groups.flatMap(({ sessions }) => sessions.shown.map(({ id }) => id)),
  )
  return {
    backends: groups.map((group) => describeGroup(group, shown)),
    other_children: shown.filter(({ session }) => !shownSessionIds.has(session)),
    ...countFieldUnlessZero('children_more', children.length - shown.length),
  }
}

function describeGroup(
  { backend, open, sessions }: McpGroupView,
  children: readonly ChildTask[],
): unknown {
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
    ...countFieldUnlessZero('more', sessions.more),
  }
}

type ChildTask = ReturnType<typeof describeChild>

function describeChild(view: ChildProcessView) {
  const { age, rss, lastStderr, ...child } = describeChildProcess(view)
  return { ...child, age_ms: age, rss_bytes: rss, last_stderr: lastStderr }
}

/** Active timers, sockets and so on of this process, by Node's names. */
export function countResources(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

function countFieldUnlessZero(name: string, count: number): Record<string, number> {
  return count === 0 ? {} : { [name]: count }
}
