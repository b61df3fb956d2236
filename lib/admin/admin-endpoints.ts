// What the admin interface answers, path by path.

import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { Log } from '../core/log.ts'
import type { LiveSnapshot } from '../core/runtime-views.ts'
import { VERSION } from '../core/version.ts'
import { UI_PATH } from '../core/well-known-paths.ts'
import { DEFAULT_KEEP_ALIVE_TIMING, streamEvents } from '../text/sse-output.ts'
import type { DecideWatch } from '../trace/trace-watchers.ts'
import { sendHtml, sendJson, sendText } from './admin-server.ts'
import { buildConfigDump } from './config-dump.ts'
import type { ConfigDumpSource } from './config-dump.ts'
import { createTasksEndpoints } from './debug-tasks.ts'
import type { EndpointHandler, EndpointTable } from './endpoint-types.ts'
import { createLoggingEndpoints } from './logging-endpoint.ts'
import { createPprofEndpoints } from './pprof/profile-endpoints.ts'
import type { ProfileSource } from './pprof/profile-endpoints.ts'

export interface AdminSources {
  readonly dump: () => ConfigDumpSource | Promise<ConfigDumpSource>
  readonly log: Log
  readonly live: () => LiveSnapshot
  readonly watch: DecideWatch
  readonly profiles: ProfileSource
  /** Begins a graceful shutdown. */
  readonly quit: () => void
}

export function createAdminEndpoints(sources: AdminSources): EndpointTable {
  const { dump, log, live, watch, profiles, quit } = sources
  const endpoints: EndpointTable = {
    '/config_dump': {
      GET: async (_request, response) => sendJson(response, buildConfigDump(await dump())),
    },
    ...createTraceEndpoints(watch),
    ...createLoggingEndpoints(log),
    ...createMemoryEndpoints(live),
    ...createTasksEndpoints(live),
    ...createPprofEndpoints(profiles, process.platform),
    ...createQuitEndpoints(quit),
  }
  return { ...endpoints, ...createIndexEndpoints(endpoints) }
}

// The page for people who look for something: an index of what can be asked.

/** Path, method, what it does. Nothing here comes from a client or a configuration. */
const INDEX_ROWS: readonly (readonly [path: string, methods: string, words: string])[] = [
  ['/config_dump', 'GET', 'the configuration in force, without secrets'],
  ['/debug/trace', 'GET, POST', 'a trace of the next request; <code>?expression=</code> picks it'],
  ['/logging', 'GET, POST', 'the log filter; POST <code>?level=info,mcp=debug</code> changes it'],
  ['/memory', 'GET', 'memory of the process, and what is counted in it'],
  ['/debug/pprof/profile', 'GET', 'CPU profile; <code>?seconds=10&amp;frequency=100</code>'],
  ['/debug/pprof/heap', 'GET', 'heap profile of what is alive'],
  ['/debug/tasks', 'GET', 'what runs now: connections, requests, sessions, child processes'],
  ['/quitquitquit', 'POST', 'graceful shutdown'],
  [UI_PATH, 'GET', 'the web UI: all of this, and the traffic, to look at'],
]

/** Without those that this machine does not have. */
export function createIndexEndpoints(others: EndpointTable): EndpointTable {
  const rows = INDEX_ROWS.filter(([path]) => path === UI_PATH || others[path] !== undefined)
  const index = renderPage(
    'gateway',
    `<p>Admin interface of gateway ${VERSION}.</p>\n${renderTable(rows)}`,
  )
  return { '/': { GET: (_request, response) => sendHtml(response, index) } }
}

/** Graceful shutdown, once the answer is out or nobody waits for it. */
export function createQuitEndpoints(quit: () => void): EndpointTable {
  return {
    '/quitquitquit': {
      POST: (_request, response) => {
        response.once('close', quit)
        sendText(response, 200, 'shutdown now')
      },
    },
  }
}

function renderTable(rows: typeof INDEX_ROWS): string {
  const lines = rows.map(([path, methods, words]) => {
    const name = methods.startsWith('GET') ? `<a href="${path}">${path}</a>` : path
    return `<tr><td>${name}</td><td>${methods}</td><td>${words}</td></tr>`
  })
  return `<table>\n<tr><th>path</th><th>method</th><th>what</th></tr>\n${lines.join('\n')}\n</table>`
}

function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`
}

// /memory: what the process holds, what V8 says of its heap, and how many there are of the things that need memory.

function createMemoryEndpoints(live: () => LiveSnapshot): EndpointTable {
  return {
    '/memory': { GET: (_request, response) => sendJson(response, describeMemory(live())) },
  }
}

export function describeMemory(live: LiveSnapshot): unknown {
  return { captured_at_unix_ms: Date.now(), ...describeProcessMemory(), counts: countsOf(live) }
}

/** Whatever runs in it. */
export function describeProcessMemory(): object {
  return {
    process: process.memoryUsage(),
    v8: { heap: getHeapStatistics(), spaces: getHeapSpaceStatistics() },
  }
}

function countsOf(live: LiveSnapshot): unknown {
  const { requests, streams, limits, tokens, held, watchers, children, groups } = live
  return {
    connections: Object.fromEntries(live.listeners.map(({ bind, open }) => [bind, open])),
    exchanges: requests,
    event_streams: streams,
    pools: live.pools,
    mcp_sessions: Object.fromEntries(groups.map(({ backend, open }) => [backend, open])),
    children: children.length,
    limit_rules: limits.rules,
    limit_buckets: limits.buckets,
    remembered_tokens: tokens,
    held_bytes: held,
    trace_watchers: watchers,
  }
}

// /healthz/ready: whether the gateway takes requests, for load balancers and supervisors (reference.md 7.4).

/** `starting`: ports are not open yet. `draining`: they are closed again. */
export type Readiness = 'starting' | 'ready' | 'draining'

export function createReadinessEndpoints(state: () => Readiness): EndpointTable {
  const tell: EndpointHandler = (_request, response) => {
    const now = state()
    // Probes must not be answered from memory.
    response.setHeader('cache-control', 'no-store')
    if (now === 'ready') sendText(response, 200, 'ready')
    else sendText(response, 503, `not ready: ${now}`)
  }
  return { '/healthz/ready': { GET: tell, HEAD: tell } }
}

// /debug/trace: the next request that passes, told step by step as an event stream. Which request it is is decided when it is
// accepted: an expression reads `request` and `source` then, and whatever is learnt later (`jwt`, `response`) is not there yet.

const TRACE_PACE = { ...DEFAULT_KEEP_ALIVE_TIMING, keepAliveMs: 1_000 }

export function createTraceEndpoints(watch: DecideWatch): EndpointTable {
  const tell: EndpointHandler = (request, response, { searchParams }) => {
    request.resume()
    const wish = watch(searchParams.get('expression'))
    if (wish.kind === 'refused') return sendText(response, wish.status, wish.reason)
    streamEvents(response, TRACE_PACE, wish.open)
  }
  return { '/debug/trace': { POST: tell, GET: tell } }
}
