// Everything that is counted: what exchanges added when they were settled, and how much there is of all else just now.

import { Descriptors } from './base/bounds/descriptors.ts'
import { inFlight } from './base/bounds/in-flight.ts'
import type { Decisions } from './base/limit/decisions.ts'
import type { Family, Histogram, Labels, Series as One } from './base/live/metrics.ts'
import { MAX_SHOWN } from './base/live/views.ts'
import type { ListenerCounts, Live } from './base/live/views.ts'
import { VERSION } from './base/version.ts'
import type { BucketCounts } from './base/live/views.ts'

export interface MeasureSources {
  readonly settled: readonly Family[]
  readonly live: Live
  /** Of connections to backends, by transport. */
  readonly connects: Readonly<Record<string, Histogram>>
  /** For want of room, by limit. */
  readonly refused: ReadonlyMap<string, number>
  /** Of limits counted here and of services, each by its name. */
  readonly decisions: readonly (readonly [labels: Labels, decisions: Decisions])[]
}

type Series = readonly One[]

export function measures(sources: MeasureSources): Family[] {
  const { settled, live, connects, decisions, refused } = sources
  return [
    ...settled,
    ...connectionFamilies([...live.listeners, ...live.past]),
    gauge('open_requests', 'Requests in work, by phase', byPhase(live)),
    gauge('open_streams', 'Event streams under way', [[{}, live.streams]]),
    ...poolFamilies(live),
    {
      name: 'upstream_connect_duration_seconds',
      kind: 'histogram',
      help: 'From dialling a backend until the connection stands, TLS included',
      series: Object.entries(connects).map(([transport, seconds]) => [{ transport }, seconds]),
    },
    gauge('buffered_bytes', 'Bytes held for requests', [
      [{ what: 'unsent' }, inFlight.unsent],
      [{ what: 'unread' }, inFlight.unread],
      [{ what: 'kept' }, inFlight.kept],
    ]),
    gauge('held_bytes', 'Bytes of requests kept for a while', [
      [{ what: 'llm' }, live.held.llm.used],
      [{ what: 'mcp' }, live.held.mcp.used],
    ]),
    gauge(
      'mcp_sessions',
      'Open MCP sessions',
      live.groups.map(({ backend, open }) => [{ backend }, open]),
    ),
    gauge('mcp_children', 'Child processes', [[{}, live.children.length]]),
    refusedFamily(refused),
    {
      name: 'rate_limit_decisions_total',
      kind: 'counter',
      help: 'What limits decided',
      series: decisions.flatMap(([labels, { allow, deny, failed }]) => [
        [{ ...labels, decision: 'allow' }, allow] as const,
        [{ ...labels, decision: 'deny' }, deny] as const,
        [{ ...labels, decision: 'failed' }, failed] as const,
      ]),
    },
    ...bucketFamilies(live.limits),
    gauge('remembered_tokens', 'Tokens that were verified and are remembered', [[{}, live.tokens]]),
    gauge('trace_watchers', 'Who waits to see a request', [[{}, live.watchers]]),
    ...processFamilies(),
  ]
}

export function gauge(name: string, help: string, series: Series): Family {
  return { name, kind: 'gauge', help, series }
}

export function counter(name: string, help: string, series: Series): Family {
  return { name, kind: 'counter', help, series }
}

export function refusedFamily(refused: ReadonlyMap<string, number>): Family {
  return counter(
    'refused_total',
    'Connections and requests for which there was no room, by limit',
    [...refused].map(([limit, count]) => [{ limit }, count]),
  )
}

/** Of whoever counts limits. */
export function bucketFamilies({ buckets, forgotten }: BucketCounts): Family[] {
  return [
    gauge('rate_limit_buckets', 'Buckets of limits counted here', [[{}, buckets]]),
    counter(
      'rate_limit_buckets_forgotten_total',
      'Buckets that were in use and had to make room for another key',
      [[{}, forgotten]],
    ),
  ]
}

function byPhase({ requests }: Live): Series {
  const { settled: _settled, ...open } = requests
  return Object.entries(open).map(([phase, count]) => [{ phase }, count])
}

/** A port that a reload closed and opened again is one and the same. */
function connectionFamilies(listeners: readonly ListenerCounts[]): Family[] {
  const binds = new Map<string, { accepted: number; open: number; came: number; went: number }>()
  for (const { bind, accepted, open, bytesIn, bytesOut } of listeners) {
    const sum = binds.get(bind) ?? { accepted: 0, open: 0, came: 0, went: 0 }
    sum.accepted += accepted
    sum.open += open
    sum.came += bytesIn
    sum.went += bytesOut
    binds.set(bind, sum)
  }
  const all = [...binds]
  const of = (pick: 'accepted' | 'open' | 'came' | 'went'): Series =>
    all.map(([bind, sums]) => [{ bind }, sums[pick]])
  return [
    counter('downstream_connections_total', 'Connections of clients', of('accepted')),
    gauge('downstream_connections', 'Open connections of clients', of('open')),
    counter('downstream_received_bytes_total', 'Bytes that clients sent', of('came')),
    counter('downstream_sent_bytes_total', 'Bytes that clients were sent', of('went')),
  ]
}

function poolFamilies({ pools }: Live): Family[] {
  const shown = pools.slice(0, MAX_SHOWN)
  return [
    gauge(
      'upstream_connections',
      'Open connections to backends',
      shown.flatMap(({ origin: backend, open, idle }) => [
        [{ backend, state: 'busy' }, open - idle] as const,
        [{ backend, state: 'idle' }, idle] as const,
      ]),
    ),
    gauge(
      'upstream_waiting',
      'Requests that wait for a connection',
      shown.map(({ origin: backend, waiting }) => [{ backend }, waiting]),
    ),
  ]
}

/** Of whatever process this is. */
export function processFamilies(): Family[] {
  const { open, limit } = new Descriptors()
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const startedAt = performance.timeOrigin / 1000
  return [
    gauge('build_info', 'The running version', [[{ tag: VERSION, node: process.version }, 1]]),
    counter('process_cpu_seconds_total', 'Time of the processor', [[{}, (user + system) / 1e6]]),
    gauge('process_resident_memory_bytes', 'Resident memory', [[{}, rss]]),
    ...(open < 0 ? [] : [gauge('process_open_fds', 'Open file descriptors', [[{}, open]])]),
    gauge('process_max_fds', 'File descriptors that may be open', [[{}, limit]]),
    gauge('process_start_time_seconds', 'When it was started', [[{}, startedAt]]),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use', [[{}, heapUsed]]),
    gauge('nodejs_heap_size_total_bytes', 'Heap', [[{}, heapTotal]]),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap', [[{}, external]]),
  ]
}
