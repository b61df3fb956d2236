// /memory: what the process holds, what V8 says of its heap, and how many there are of the things that need memory.

import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { Endpoints } from '../base/endpoints.ts'
import type { Live } from '../base/live/views.ts'
import { answerJson } from './server.ts'

export function memoryEndpoints(live: () => Live): Endpoints {
  return {
    '/memory': { GET: (_request, response) => answerJson(response, memoryOf(live())) },
  }
}

export function memoryOf(live: Live): unknown {
  return { captured_at_unix_ms: Date.now(), ...memoryOfProcess(), counts: countsOf(live) }
}

/** Whatever runs in it. */
export function memoryOfProcess(): object {
  return {
    process: process.memoryUsage(),
    v8: { heap: getHeapStatistics(), spaces: getHeapSpaceStatistics() },
  }
}

function countsOf(live: Live): unknown {
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
