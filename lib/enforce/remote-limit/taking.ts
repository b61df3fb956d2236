// Tokens taken from a rate limit service before they are known. The request that goes beyond a budget still succeeds
// (spec.md §3), and only the ones behind it are refused; but a service that is asked for more than is left says no, and
// counts it. So each counter is asked about twice in one call, in this order: by 0, which only looks, and by the estimate.

import type { Descriptor, RateLimitAnswer, Status } from './codec.ts'
import type { Counter } from './descriptors.ts'

export interface Taking {
  readonly descriptors: readonly Descriptor[]
  /** From each counter without a cost of its own. */
  readonly tokens: number
}

/** What has a cost of its own counts something else than tokens, and is known at the end only: it is just looked at. */
export function takingOf(counters: readonly Counter[], estimate: number): Taking {
  // With less than 1 a service that has exactly nothing left would say yes.
  const tokens = Math.max(1, Math.ceil(estimate))
  const descriptors = counters.flatMap(({ entries, limit, cost }) => {
    const look = { entries, limit, hits: 0 }
    return cost === null ? [look, { entries, limit, hits: tokens }] : [look]
  })
  return { descriptors, tokens }
}

/** Of an answer that says no: whether there was nothing left before this request. */
export function isExhausted(
  counters: readonly Counter[],
  { statuses }: Pick<RateLimitAnswer, 'statuses'>,
): boolean {
  const left = [...statuses]
  for (const { cost } of counters) {
    const look = left.shift()
    const take = cost === null ? left.shift() : look
    // It does not say which one it is about.
    if (look === undefined || take === undefined) return true
    if (take.code === 'over' && isSpent(look)) return true
  }
  return false
}

function isSpent({ code, remaining }: Status): boolean {
  return code === 'over' || remaining === 0
}
