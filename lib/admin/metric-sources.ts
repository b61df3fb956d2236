// Everything that is counted: what exchanges added when they were settled, and how much there is of all else just now.

import { FileDescriptors } from '../core/descriptors.ts'
import { bytesInFlight } from '../core/byte-budgets.ts'
import type { DecisionCounts } from '../config/limit-status.ts'
import type {
  MetricFamily,
  Histogram,
  MetricLabels,
  MetricSeries as One,
} from '../core/metric-families.ts'
import { MAX_LISTED_ENTRIES } from '../core/runtime-views.ts'
import type { BucketCounts, ListenerCounts, LiveSnapshot } from '../core/runtime-views.ts'
import { VERSION } from '../core/version.ts'

export interface MetricSources {
  readonly settled: readonly MetricFamily[]
  readonly live: LiveSnapshot
  /** Of connections to backends, by transport. */
  readonly connectDurations: Readonly<Record<string, Histogram>>
  /** For want of room, by limit. */
  readonly refusalCounts: ReadonlyMap<string, number>
  /** Of limits counted here and of services, each by its name. */
  readonly decisions: readonly (readonly [labels: MetricLabels, decisions: DecisionCounts])[]
}

type NumberSeriesList = readonly One[]

export function collectMetricFamilies(sources: MetricSources): MetricFamily[] {
  const { settled, live, connectDurations, decisions, refusalCounts } = sources
  return [
    ...settled,
    ...connectionFamilies([...live.listeners, ...live.closedListeners]),
    gaugeFamily('open_requests', 'Requests in work, by phase', openRequestSeries(live)),
    gaugeFamily('open_streams', 'Event streams under way', [[{}, live.streams]]),
    ...poolFamilies(live),
    {
      name: 'upstream_connect_duration_seconds',
      kind: 'histogram',
      help: 'From dialling a backend until the connection stands, TLS included',
      series: Object.entries(connectDurations).map(([transport, seconds]) => [
        { transport },
        seconds,
      ]),
    },
    gaugeFamily('buffered_bytes', 'Bytes held for requests', [
      [{ what: 'unsent' }, bytesInFlight.unsent],
      [{ what: 'unread' }, bytesInFlight.unread],
      [{ what: 'kept' }, bytesInFlight.retained],
    ]),
    gaugeFamily('held_bytes', 'Bytes of requests kept for a while', [
      [{ what: 'llm' }, live.held.llm.used],
      [{ what: 'mcp' }, live.held.mcp.used],
    ]),
    gaugeFamily(
      'mcp_sessions',
      'Open MCP sessions',
      live.groups.map(({ backend, open }) => [{ backend }, open]),
    ),
    gaugeFamily('mcp_children', 'Child processes', [[{}, live.children.length]]),
    refusedFamily(refusalCounts),
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
    gaugeFamily('remembered_tokens', 'Tokens that were verified and are remembered', [
      [{}, live.tokens],
    ]),
    gaugeFamily('trace_watchers', 'Who waits to see a request', [[{}, live.watchers]]),
    ...processFamilies(),
  ]
}

export function gaugeFamily(name: string, help: string, series: NumberSeriesList): MetricFamily {
  return { name, kind: 'gauge', help, series }
}

export function counterFamily(name: string, help: string, series: NumberSeriesList): MetricFamily {
  return { name, kind: 'counter', help, series }
}

export function refusedFamily(refused: ReadonlyMap<string, number>): MetricFamily {
  return counterFamily(
    'refused_total',
    'Connections and requests for which there was no room, by limit',
    [...refused].map(([limit, count]) => [{ limit }, count]),
  )
}

/** Of whoever counts limits. */
export function bucketFamilies({ buckets, evicted }: BucketCounts): MetricFamily[] {
  return [
    gaugeFamily('rate_limit_buckets', 'Buckets of limits counted here', [[{}, buckets]]),
    counterFamily(
      'rate_limit_buckets_forgotten_total',
      'Buckets that were in use and had to make room for another key',
      [[{}, evicted]],
    ),
  ]
}

function openRequestSeries({ requests }: LiveSnapshot): NumberSeriesList {
  const { settled: _settled, ...open } = requests
  return Object.entries(open).map(([phase, count]) => [{ phase }, count])
}

/** A port that a reload closed and opened again is one and the same. */
function connectionFamilies(listeners: readonly ListenerCounts[]): MetricFamily[] {
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
  const of = (pick: 'accepted' | 'open' | 'came' | 'went'): NumberSeriesList =>
    all.map(([bind, sums]) => [{ bind }, sums[pick]])
  return [
    counterFamily('downstream_connections_total', 'Connections of clients', of('accepted')),
    gaugeFamily('downstream_connections', 'Open connections of clients', of('open')),
    counterFamily('downstream_received_bytes_total', 'Bytes that clients sent', of('came')),
    counterFamily('downstream_sent_bytes_total', 'Bytes that clients were sent', of('went')),
  ]
}

function poolFamilies({ pools }: LiveSnapshot): MetricFamily[] {
  const shown = pools.slice(0, MAX_LISTED_ENTRIES)
  return [
    gaugeFamily(
      'upstream_connections',
      'Open connections to backends',
      shown.flatMap(({ origin: backend, open, idle }) => [
        [{ backend, state: 'busy' }, open - idle] as const,
        [{ backend, state: 'idle' }, idle] as const,
      ]),
    ),
    gaugeFamily(
      'upstream_waiting',
      'Requests that wait for a connection',
      shown.map(({ origin: backend, waiting }) => [{ backend }, waiting]),
    ),
  ]
}

/** Of whatever process this is. */
export function processFamilies(): MetricFamily[] {
  const { openCount, limit } = new FileDescriptors()
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const startedAt = performance.timeOrigin / 1000
  return [
    gaugeFamily('build_info', 'The running version', [
      [{ tag: VERSION, node: process.version }, 1],
    ]),
    counterFamily('process_cpu_seconds_total', 'Time of the processor', [
      [{}, (user + system) / 1e6],
    ]),
    gaugeFamily('process_resident_memory_bytes', 'Resident memory', [[{}, rss]]),
    ...(openCount < 0
      ? []
      : [gaugeFamily('process_open_fds', 'Open file descriptors', [[{}, openCount]])]),
    gaugeFamily('process_max_fds', 'File descriptors that may be open', [[{}, limit]]),
    gaugeFamily('process_start_time_seconds', 'When it was started', [[{}, startedAt]]),
    gaugeFamily('nodejs_heap_size_used_bytes', 'Heap in use', [[{}, heapUsed]]),
    gaugeFamily('nodejs_heap_size_total_bytes', 'Heap', [[{}, heapTotal]]),
    gaugeFamily('nodejs_external_memory_bytes', 'Memory outside the heap', [[{}, external]]),
  ]
}
