// Adds up the facts of several workers.

import type { BackendStatus } from '../../admin/config-dump.ts'
import type { Expression } from '../../expressions/compile.ts'
import type { Config } from '../../config/config-types.ts'
import type { DecisionCounts, LimitStatus } from '../../config/limit-status.ts'
import type { RequestCounts, RequestTotals } from '../../core/traffic-totals.ts'
import type { BackendHealthView, ListenerCounts, CurrentLoad } from '../../core/runtime-views.ts'
import type { LimitFacts, WorkerFacts } from './worker-facts.ts'

type ReportedTotals = NonNullable<WorkerFacts['pulse']>['totals']

const SUMS = ['requests', 'errors', 'refused', 'tokensIn', 'tokensOut'] as const

export function addTotals(sum: RequestTotals, totals: ReportedTotals): void {
  for (const name of SUMS) sum[name] += totals[name]
  for (const [at, count] of totals.firstBytes.entries()) sum.firstBytes.counts[at]! += count
  for (const [at, count] of totals.firstTokens.entries()) sum.firstTokens.counts[at]! += count
}

/** In place, as readers keep a reference to `totals`. */
export function setTotals(totals: RequestTotals, from: RequestTotals): void {
  for (const name of SUMS) totals[name] = from[name]
  totals.firstBytes.counts.set(from.firstBytes.counts)
  totals.firstTokens.counts.set(from.firstTokens.counts)
}

export function addCounts(
  sums: Map<string, RequestCounts>,
  counts: Iterable<readonly [string, RequestCounts]>,
  maxKeys = Infinity,
): void {
  for (const [key, { requests, errors, refused }] of counts) {
    const sum = sums.get(key)
    if (sum === undefined) {
      if (sums.size < maxKeys) sums.set(key, { requests, errors, refused })
      continue
    }
    sum.requests += requests
    sum.errors += errors
    sum.refused += refused
  }
}

export function sumPulses(pulses: readonly CurrentLoad[]): CurrentLoad {
  const sum = { connections: 0, requests: 0, streams: 0, bytesIn: 0, bytesOut: 0 }
  for (const pulse of pulses)
    for (const name of Object.keys(sum) as (keyof CurrentLoad)[]) sum[name] += pulse[name]
  return sum
}

/** By bind; `open` when one of the workers accepts connections there. */
export function sumListeners(all: readonly ListenerCounts[]): ListenerCounts[] {
  const sums = new Map<string, ListenerCounts>()
  for (const one of all) {
    const sum = sums.get(one.bind)
    sums.set(one.bind, sum === undefined ? one : addListener(sum, one))
  }
  return [...sums.values()]
}

function addListener(sum: ListenerCounts, one: ListenerCounts): ListenerCounts {
  return {
    bind: sum.bind,
    state: sum.state === 'open' ? sum.state : one.state,
    accepted: sum.accepted + one.accepted,
    open: sum.open + one.open,
    bytesIn: sum.bytesIn + one.bytesIn,
    bytesOut: sum.bytesOut + one.bytesOut,
  }
}

export function joinHealth(all: readonly BackendHealthView[]): BackendHealthView {
  const pools = all.flatMap(({ pool }) => (pool === null ? [] : [pool]))
  const sum = { open: 0, idle: 0, waiting: 0 }
  for (const { open, idle, waiting } of pools) {
    sum.open += open
    sum.idle += idle
    sum.waiting += waiting
  }
  const problems = [...new Set(all.flatMap((one) => one.problems))]
  return { pool: pools.length === 0 ? null : sum, problems }
}

/** The mean over all workers, weighted by requests. */
export function averageStatus(all: readonly BackendStatus[]): BackendStatus | null {
  if (all.length === 0) return null
  const mean = (pick: 'health' | 'latencyMs'): number | null => {
    const known = all.filter((one) => one[pick] !== null)
    const weight = known.reduce((sum, { requests }) => sum + requests, 0)
    if (weight === 0) return null
    return known.reduce((sum, one) => sum + one[pick]! * one.requests, 0) / weight
  }
  const requests = all.reduce((sum, one) => sum + one.requests, 0)
  return { requests, health: mean('health'), latencyMs: mean('latencyMs') }
}

/** Buckets are the same in all workers, as one owner counts them; decisions are counted by each worker. */
export function joinLimits(
  all: readonly LimitFacts[],
  departed: ReadonlyMap<string, DecisionCounts>,
  keys: ReadonlyMap<string, Expression>,
): LimitStatus[] {
  const decisions = new Map<string, DecisionCounts>()
  addDecisions(decisions, [...departed])
  addDecisions(
    decisions,
    all.map((limit) => [limit.id, limit.decisions]),
  )
  const firsts = new Map<string, LimitFacts>()
  for (const limit of all) if (!firsts.has(limit.id)) firsts.set(limit.id, limit)
  return [...firsts.values()].flatMap(({ key: source, ...limit }) => {
    const key = source === null ? null : keys.get(source)
    // The limit belongs to another configuration: a reload is in progress.
    if (key === undefined) return []
    return [{ ...limit, key, decisions: decisions.get(limit.id)! }]
  })
}

export function addDecisions(
  sums: Map<string, DecisionCounts>,
  decisions: readonly (readonly [string, Readonly<DecisionCounts>])[],
): void {
  for (const [id, { allow, deny, failed }] of decisions) {
    const sum = sums.get(id)
    if (sum === undefined) {
      sums.set(id, { allow, deny, failed })
      continue
    }
    sum.allow += allow
    sum.deny += deny
    sum.failed += failed
  }
}

/** The key expressions of all limits, by their text. */
export function limitKeysOf({ gateways }: Config): Map<string, Expression> {
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap((one) => one.routes))
  const limits = [...gateways, ...routes].flatMap((one) => one.limits)
  return new Map(limits.flatMap(({ key }) => (key === null ? [] : [[key.source, key] as const])))
}
