// The facts that a worker reports to the supervisor as JSON, part by part, so that one page can show all workers.

import type { BackendStatus, KeySetStatus } from '../../admin/config-dump.ts'
import { sendJson } from '../../admin/admin-server.ts'
import type { EndpointTable } from '../../admin/endpoint-types.ts'
import type { LimitStatus } from '../../config/limit-status.ts'
import type { RequestCounts, RequestTotals } from '../../core/traffic-totals.ts'
import { MAX_LISTED_ENTRIES } from '../../core/runtime-views.ts'
import type {
  ChildProcessView,
  McpGroupView,
  BackendHealthView,
  ListenerCounts,
  CurrentLoad,
} from '../../core/runtime-views.ts'
import type { Gateway } from '../../gateway.ts'
import type { LogsView } from '../../admin/page-api/page-api-types.ts'

/** Served only on the private socket of a worker. */
export const FACTS_PATH = '/worker/facts'

type TotalSums = Omit<RequestTotals, 'firstBytes' | 'firstTokens'>

interface PulsePart {
  readonly pulse: CurrentLoad
  readonly listeners: readonly ListenerCounts[]
  readonly totals: TotalSums & {
    readonly firstBytes: readonly number[]
    readonly firstTokens: readonly number[]
  }
  readonly rss: number
  /** CPU milliseconds so far. */
  readonly cpu: number
}

interface TrafficPart {
  readonly traffic: readonly (readonly [key: string, counts: RequestCounts])[]
  readonly health: readonly (readonly [backend: string, health: BackendHealthView])[]
  readonly keySets: readonly KeySetStatus[]
}

type ChildFacts = Omit<ChildProcessView, 'lastStderr'> & { readonly lastStderr: readonly string[] }

interface McpPart {
  readonly groups: readonly McpGroupView[]
  readonly children: readonly ChildFacts[]
}

/** The key is the text of its expression. */
export type LimitFacts = Omit<LimitStatus, 'key'> & { readonly key: string | null }

interface DumpPart {
  readonly limits: readonly LimitFacts[]
  readonly backends: readonly (readonly [backend: string, status: BackendStatus])[]
  readonly keySets: readonly KeySetStatus[]
}

interface FactsByPart {
  readonly pulse: PulsePart
  readonly traffic: TrafficPart
  readonly mcp: McpPart
  readonly limits: readonly LimitFacts[]
  readonly logs: Pick<LogsView, 'lines' | 'isCut'>
  readonly dump: DumpPart
}

export type FactsPart = keyof FactsByPart

/** The requested parts. */
export type WorkerFacts = Partial<FactsByPart>

const FACTS_READERS: {
  readonly [P in FactsPart]: (gateway: Gateway, query: URLSearchParams) => FactsByPart[P]
} = {
  pulse: readPulsePart,
  traffic: readTrafficPart,
  mcp: readMcpPart,
  limits: ({ facts }) => [...facts.limits()].slice(0, MAX_LISTED_ENTRIES).map(limitFactsOf),
  logs: ({ readApi }, query) => {
    const request = { method: 'GET', path: '', query, ifNoneMatch: undefined }
    const { lines, isCut } = readApi.logs(request, 'admin')
    return { lines, isCut }
  },
  dump: readDumpPart,
}

export function createFactsEndpoints(gateway: Gateway): EndpointTable {
  return {
    [FACTS_PATH]: {
      GET: async (_request, response, { searchParams }) => {
        const requested = (searchParams.get('parts') ?? '').split(',')
        const parts = (Object.keys(FACTS_READERS) as FactsPart[]).filter((part) =>
          requested.includes(part),
        )
        if (parts.includes('limits') || parts.includes('dump')) await gateway.refreshLimits()
        const facts = parts.map((part) => [part, FACTS_READERS[part](gateway, searchParams)])
        sendJson(response, Object.fromEntries(facts))
      },
    },
  }
}

function readPulsePart({ facts }: Gateway): PulsePart {
  const { firstBytes, firstTokens, ...sums } = facts.totals
  const { user, system } = process.cpuUsage()
  return {
    pulse: facts.pulse(),
    listeners: facts.listeners(),
    totals: { ...sums, firstBytes: [...firstBytes.counts], firstTokens: [...firstTokens.counts] },
    rss: process.memoryUsage.rss(),
    cpu: (user + system) / 1_000,
  }
}

function readTrafficPart({ facts, plan, keySets }: Gateway): TrafficPart {
  return {
    traffic: [...facts.traffic()].map(([key, { requests, errors, refused }]) => [
      key,
      { requests, errors, refused },
    ]),
    health: [...plan.backends].map((key) => [key, facts.health(key)]),
    keySets,
  }
}

function readMcpPart({ facts }: Gateway): McpPart {
  const children = [...facts.children()].map(({ lastStderr, ...child }, at) => ({
    ...child,
    lastStderr: at < MAX_LISTED_ENTRIES ? lastStderr() : [],
  }))
  return { groups: facts.groups(), children }
}

function readDumpPart({ limitStatus, backendStats, plan, keySets }: Gateway): DumpPart {
  const statuses = [...plan.backends].flatMap((key) => {
    const status = backendStats.get(key)
    return status === null ? [] : [[key, status] as const]
  })
  return { limits: limitStatus.map(limitFactsOf), backends: statuses, keySets }
}

function limitFactsOf({ key, ...limit }: LimitStatus): LimitFacts {
  return { ...limit, key: key?.source ?? null }
}
