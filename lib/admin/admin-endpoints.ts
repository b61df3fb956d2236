// The endpoints of the admin interface with its index page, and the readiness endpoint.

import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { Log } from '../core/log.ts'
import type { LiveSnapshot } from '../core/runtime-views.ts'
import { VERSION } from '../core/version.ts'
import { UI_PATH } from '../core/well-known-paths.ts'
import { DEFAULT_KEEP_ALIVE_TIMING, streamEvents } from '../text/sse-output.ts'
import { readTraceSelector } from '../trace/trace-watchers.ts'
import type { StartTrace } from '../trace/trace-watchers.ts'
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
  readonly watch: StartTrace
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

/** Path, methods and description in HTML; constants only, nothing from clients or the configuration. */
const INDEX_ROWS: readonly (readonly [path: string, methods: string, description: string])[] = [
  ['/config_dump', 'GET', 'configuration in force, without secrets'],
  [
    '/debug/trace',
    'GET, POST',
    'trace of the next request; <code>?expression=</code> selects the request',
  ],
  ['/logging', 'GET, POST', 'log filter; POST <code>?level=info,mcp=debug</code> changes it'],
  ['/memory', 'GET', 'memory of the process, and counts of objects that use it'],
  ['/debug/pprof/profile', 'GET', 'CPU profile; <code>?seconds=10&amp;frequency=100</code>'],
  ['/debug/pprof/heap', 'GET', 'heap profile of live objects'],
  ['/debug/tasks', 'GET', 'open connections, requests, sessions and child processes'],
  ['/quitquitquit', 'POST', 'graceful shutdown'],
  [UI_PATH, 'GET', 'web UI: configuration, traffic, traces and logs'],
]

/** The index page; endpoints that are not available on this platform are left out. */
export function createIndexEndpoints(others: EndpointTable): EndpointTable {
  const rows = INDEX_ROWS.filter(([path]) => path === UI_PATH || others[path] !== undefined)
  const index = renderPage(
    'gateway',
    `<p>Admin interface of gateway ${VERSION}.</p>\n${renderTable(rows)}`,
  )
  return { '/': { GET: (_request, response) => sendHtml(response, index) } }
}

/** Begins the graceful shutdown when the response is sent or its connection is closed. */
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
  const lines = rows.map(([path, methods, description]) => {
    const name = methods.startsWith('GET') ? `<a href="${path}">${path}</a>` : path
    return `<tr><td>${name}</td><td>${methods}</td><td>${description}</td></tr>`
  })
  return `<table>\n<tr><th>path</th><th>method</th><th>description</th></tr>\n${lines.join('\n')}\n</table>`
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

function createMemoryEndpoints(live: () => LiveSnapshot): EndpointTable {
  return {
    '/memory': { GET: (_request, response) => sendJson(response, describeMemory(live())) },
  }
}

/** /memory: memory of the process, V8's heap statistics, and counts of objects that use memory. */
export function describeMemory(live: LiveSnapshot): unknown {
  return { captured_at_unix_ms: Date.now(), ...describeProcessMemory(), counts: countsOf(live) }
}

/** The part of /memory that holds for any process, also the supervisor. */
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

/** `starting`: the ports are not open yet. `draining`: they are closed for the shutdown. */
export type Readiness = 'starting' | 'ready' | 'draining'

/** /healthz/ready, for load balancers and supervisors (reference.md 7.4). */
export function createReadinessEndpoints(state: () => Readiness): EndpointTable {
  const handle: EndpointHandler = (_request, response) => {
    const now = state()
    // Health checks must not be answered from a cache.
    response.setHeader('cache-control', 'no-store')
    // A probe is one request; an idle connection would only use up the limit.
    response.setHeader('connection', 'close')
    if (now === 'ready') sendText(response, 200, 'ready')
    else sendText(response, 503, `not ready: ${now}`)
  }
  return { '/healthz/ready': { GET: handle, HEAD: handle } }
}

const TRACE_TIMING = { ...DEFAULT_KEEP_ALIVE_TIMING, keepAliveMs: 1_000 }

/**
 * /debug/trace: the next request as an event stream. The expression selects it when it is accepted, so it can read
 * `request` and `source` but not later values such as `jwt` and `response`. With a token, only the request that has it
 * in its header is traced.
 */
export function createTraceEndpoints(watch: StartTrace): EndpointTable {
  const handle: EndpointHandler = (request, response, { searchParams }) => {
    request.resume()
    const decision = watch(readTraceSelector(searchParams))
    if (decision.kind === 'refused') return sendText(response, decision.status, decision.reason)
    streamEvents(response, TRACE_TIMING, decision.open)
  }
  return { '/debug/trace': { POST: handle, GET: handle } }
}
