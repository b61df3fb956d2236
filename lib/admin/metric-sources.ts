// Collects all metric families: the counts that settled exchanges added, and the current state of everything else.

import { FileDescriptors } from '../core/descriptors.ts'
import { bytesInFlight } from '../core/byte-budgets.ts'
import type { PolicyResource } from '../config/backend-types.ts'
import type { DecisionCounts } from '../config/limit-status.ts'
import { countResourceStates } from '../config/policy-resources.ts'
import type {
  MetricFamily,
  Histogram,
  MetricLabels,
  MetricSeries,
} from '../core/metric-families.ts'
import { MAX_LISTED_ENTRIES } from '../core/runtime-views.ts'
import type { BucketCounts, ListenerCounts, LiveSnapshot } from '../core/runtime-views.ts'
import { VERSION } from '../core/version.ts'

export interface MetricSources {
  readonly settled: readonly MetricFamily[]
  readonly live: LiveSnapshot
  /** Connect times of backends, by transport. */
  readonly connectDurations: Readonly<Record<string, Histogram>>
  /** Refusals by the limit that was reached. */
  readonly refusalCounts: ReadonlyMap<string, number>
  /** Policy resources of the configuration in use. */
  readonly resources: readonly PolicyResource[]
  /** Decisions of local limits and of rate limit services, by name. */
  readonly decisions: readonly (readonly [labels: MetricLabels, decisions: DecisionCounts])[]
}

type NumberSeriesList = readonly MetricSeries[]

export function collectMetricFamilies(sources: MetricSources): MetricFamily[] {
  const { settled, live, connectDurations, decisions, refusalCounts, resources } = sources
  return [
    ...settled,
    ...connectionFamilies([...live.listeners, ...live.closedListeners]),
    gaugeFamily('open_requests', 'Requests in progress, by phase', openRequestSeries(live)),
    gaugeFamily('open_streams', 'Open event streams', [[{}, live.streams]]),
    ...poolFamilies(live),
    {
      name: 'upstream_connect_duration_seconds',
      kind: 'histogram',
      help: 'Time to connect to a backend, including the TLS handshake',
      series: Object.entries(connectDurations).map(([transport, seconds]) => [
        { transport },
        seconds,
      ]),
    },
    gaugeFamily('buffered_bytes', 'Bytes buffered for requests', [
      [{ what: 'unsent' }, bytesInFlight.unsent],
      [{ what: 'unread' }, bytesInFlight.unread],
      [{ what: 'kept' }, bytesInFlight.retained],
    ]),
    gaugeFamily('held_bytes', 'Bytes of request bodies held in memory', [
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
      help: 'Rate limit decisions',
      series: decisions.flatMap(([labels, { allow, deny, failed }]) => [
        [{ ...labels, decision: 'allow' }, allow] as const,
        [{ ...labels, decision: 'deny' }, deny] as const,
        [{ ...labels, decision: 'failed' }, failed] as const,
      ]),
    },
    policyFamily(resources),
    ...bucketFamilies(live.limits),
    gaugeFamily('remembered_tokens', 'Verified tokens in the cache', [[{}, live.tokens]]),
    gaugeFamily('trace_watchers', 'Clients that wait for the trace of a request', [
      [{}, live.watchers],
    ]),
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
    'Connections and requests refused because a limit was reached, by limit',
    [...refused].map(([limit, count]) => [{ limit }, count]),
  )
}

/** The same in every process. */
export function policyFamily(resources: readonly PolicyResource[]): MetricFamily {
  return gaugeFamily(
    'policies',
    'Policy resources, by state',
    Object.entries(countResourceStates(resources)).map(([state, count]) => [{ state }, count]),
  )
}

/** Families of the process that counts the limits. */
export function bucketFamilies({ buckets, evicted }: BucketCounts): MetricFamily[] {
  return [
    gaugeFamily('rate_limit_buckets', 'Buckets of local rate limits', [[{}, buckets]]),
    counterFamily(
      'rate_limit_buckets_forgotten_total',
      'Buckets in use that were evicted for another key',
      [[{}, evicted]],
    ),
  ]
}

function openRequestSeries({ requests }: LiveSnapshot): NumberSeriesList {
  const { settled: _settled, ...open } = requests
  return Object.entries(open).map(([phase, count]) => [{ phase }, count])
}

/** A port that a reload closed and opened again is one bind. */
function connectionFamilies(listeners: readonly ListenerCounts[]): MetricFamily[] {
  const binds = new Map<string, Omit<ListenerCounts, 'bind' | 'state'>>()
  for (const { bind, accepted, open, bytesIn, bytesOut } of listeners) {
    const sum = binds.get(bind) ?? { accepted: 0, open: 0, bytesIn: 0, bytesOut: 0 }
    binds.set(bind, {
      accepted: sum.accepted + accepted,
      open: sum.open + open,
      bytesIn: sum.bytesIn + bytesIn,
      bytesOut: sum.bytesOut + bytesOut,
    })
  }
  const entries = [...binds]
  const seriesOf = (name: 'accepted' | 'open' | 'bytesIn' | 'bytesOut'): NumberSeriesList =>
    entries.map(([bind, sums]) => [{ bind }, sums[name]])
  return [
    counterFamily('downstream_connections_total', 'Client connections', seriesOf('accepted')),
    gaugeFamily('downstream_connections', 'Open client connections', seriesOf('open')),
    counterFamily('downstream_received_bytes_total', 'Bytes from clients', seriesOf('bytesIn')),
    counterFamily('downstream_sent_bytes_total', 'Bytes to clients', seriesOf('bytesOut')),
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
      'Requests that wait for a connection to a backend',
      shown.map(({ origin: backend, waiting }) => [{ backend }, waiting]),
    ),
  ]
}

/** Families of the process, also in the supervisor. */
export function processFamilies(): MetricFamily[] {
  const { openCount, limit } = new FileDescriptors()
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const startedAt = performance.timeOrigin / 1000
  return [
    gaugeFamily('build_info', 'The running version', [
      [{ tag: VERSION, node: process.version }, 1],
    ]),
    counterFamily('process_cpu_seconds_total', 'CPU time', [[{}, (user + system) / 1e6]]),
    gaugeFamily('process_resident_memory_bytes', 'Resident memory', [[{}, rss]]),
    ...(openCount < 0
      ? []
      : [gaugeFamily('process_open_fds', 'Open file descriptors', [[{}, openCount]])]),
    gaugeFamily('process_max_fds', 'Limit of open file descriptors', [[{}, limit]]),
    gaugeFamily('process_start_time_seconds', 'Start time, in seconds since 1970', [
      [{}, startedAt],
    ]),
    gaugeFamily('nodejs_heap_size_used_bytes', 'Used heap', [[{}, heapUsed]]),
    gaugeFamily('nodejs_heap_size_total_bytes', 'Total heap', [[{}, heapTotal]]),
    gaugeFamily('nodejs_external_memory_bytes', 'Memory outside the heap', [[{}, external]]),
  ]
}
