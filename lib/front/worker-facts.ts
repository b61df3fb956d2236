// What a worker tells the supervisor of itself, part by part, so that one page can show all of them. It travels as JSON.

import type { BackendStatus, KeySetStatus } from '../admin/config-dump.ts'
import { answerJson } from '../admin/server.ts'
import type { Endpoints } from '../base/endpoints.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import type { Counts, Totals } from '../base/live/totals.ts'
import { MAX_SHOWN } from '../base/live/views.ts'
import type { ChildView, GroupView, HealthView, ListenerCounts, Pulse } from '../base/live/views.ts'
import type { Gateway } from '../gateway.ts'
import type { Logs } from '../ui/api.ts'

/** On the private socket of a worker only. */
export const FACTS_PATH = '/worker/facts'

type Sums = Omit<Totals, 'firstBytes' | 'firstTokens'>

interface PulsePart {
  readonly pulse: Pulse
  readonly listeners: readonly ListenerCounts[]
  readonly totals: Sums & {
    readonly firstBytes: readonly number[]
    readonly firstTokens: readonly number[]
  }
  readonly rss: number
  /** Milliseconds of the processor so far. */
  readonly cpu: number
}

interface TrafficPart {
  readonly traffic: readonly (readonly [key: string, counts: Counts])[]
  readonly health: readonly (readonly [backend: string, health: HealthView])[]
  readonly keySets: readonly KeySetStatus[]
}

type ChildFacts = Omit<ChildView, 'lastStderr'> & { readonly lastStderr: readonly string[] }

interface McpPart {
  readonly groups: readonly GroupView[]
  readonly children: readonly ChildFacts[]
}

/** The expression of its key is a text. */
export type LimitFacts = Omit<LimitStatus, 'key'> & { readonly key: string | null }

interface DumpPart {
  readonly limits: readonly LimitFacts[]
  readonly backends: readonly (readonly [backend: string, status: BackendStatus])[]
  readonly keySets: readonly KeySetStatus[]
}

interface Parts {
  readonly pulse: PulsePart
  readonly traffic: TrafficPart
  readonly mcp: McpPart
  readonly limits: readonly LimitFacts[]
  readonly logs: Pick<Logs, 'lines' | 'isCut'>
  readonly dump: DumpPart
}

export type Part = keyof Parts

/** Those that were asked for. */
export type WorkerFacts = Partial<Parts>

const PARTS: { readonly [P in Part]: (gateway: Gateway, query: URLSearchParams) => Parts[P] } = {
  pulse: pulseOf,
  traffic: trafficOf,
  mcp: mcpOf,
  limits: ({ facts }) => [...facts.limits()].slice(0, MAX_SHOWN).map(limitOf),
  logs: ({ readApi }, query) => {
    const ask = { method: 'GET', path: '', query, ifNoneMatch: undefined }
    const { lines, isCut } = readApi.logs(ask, 'admin')
    return { lines, isCut }
  },
  dump: dumpOf,
}

export function factsEndpoints(gateway: Gateway): Endpoints {
  return {
    [FACTS_PATH]: {
      GET: async (_request, response, { searchParams }) => {
        const asked = (searchParams.get('parts') ?? '').split(',')
        const parts = (Object.keys(PARTS) as Part[]).filter((part) => asked.includes(part))
        if (parts.includes('limits') || parts.includes('dump')) await gateway.look()
        const facts = parts.map((part) => [part, PARTS[part](gateway, searchParams)])
        answerJson(response, Object.fromEntries(facts))
      },
    },
  }
}

function pulseOf({ facts }: Gateway): PulsePart {
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

function trafficOf({ facts, plan, keySets }: Gateway): TrafficPart {
  return {
    traffic: [...facts.traffic()].map(([key, { requests, errors, refused }]) => [
      key,
      { requests, errors, refused },
    ]),
    health: [...plan.backends].map((key) => [key, facts.health(key)]),
    keySets,
  }
}

function mcpOf({ facts }: Gateway): McpPart {
  const children = [...facts.children()].map(({ lastStderr, ...child }, at) => ({
    ...child,
    lastStderr: at < MAX_SHOWN ? lastStderr() : [],
  }))
  return { groups: facts.groups(), children }
}

function dumpOf({ limits, backends, plan, keySets }: Gateway): DumpPart {
  const statuses = [...plan.backends].flatMap((key) => {
    const status = backends.of(key)
    return status === null ? [] : [[key, status] as const]
  })
  return { limits: limits.map(limitOf), backends: statuses, keySets }
}

function limitOf({ key, ...limit }: LimitStatus): LimitFacts {
  return { ...limit, key: key?.source ?? null }
}
