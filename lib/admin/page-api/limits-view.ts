// /api/limits: the remaining quota of each limit and of its tightest keys, with its history.

import type { LimitStatus } from '../../config/limit-status.ts'
import type { ConfigFormatter } from '../../config/show.ts'
import { limitList } from '../../core/runtime-views.ts'
import { REDACTED } from '../../text/redaction.ts'
import type { LimitRule, LimitsView } from './page-api-types.ts'

export function buildLimitsView(
  all: Iterable<LimitStatus>,
  formatter: ConfigFormatter,
  history: LimitHistory,
): LimitsView {
  return {
    rules: limitList(all, (status) => ruleOf(status, formatter, history.pointsOf(status.id))),
  }
}

function ruleOf(
  status: LimitStatus,
  formatter: ConfigFormatter,
  history: LimitRule['history'],
): LimitRule {
  const { id, name, owner, counts, amount, limit, interval, key, keys, shared } = status
  return {
    id,
    name,
    owner,
    counts,
    amount,
    limit,
    interval,
    key: key === null ? null : String(formatter.format(key)),
    remaining: shared.remaining,
    reset: shared.reset,
    keys,
    tightest: tightestOf(status, formatter),
    decisions: { ...status.decisions },
    history,
  }
}

/** Key values are mostly user names; those of an expression that reads credentials are redacted. */
function tightestOf(
  { key, tightest }: LimitStatus,
  formatter: ConfigFormatter,
): LimitRule['tightest'] {
  if (key === null) return []
  const shown = formatter.keyValueFormatter(key)
  return tightest.map((one) => {
    const value = shown(one.key)
    return { key: typeof value === 'string' ? value : REDACTED, remaining: one.remaining }
  })
}

/** Whether two views differ at most by the time that has passed. */
export function isSameLimits(view: LimitsView, previous: LimitsView): boolean {
  const { shown, more } = view.rules
  const before = previous.rules.shown
  return (
    more === previous.rules.more &&
    shown.length === before.length &&
    shown.every((rule, at) => isSameRule(rule, before[at]!))
  )
}

function isSameRule(rule: LimitRule, before: LimitRule): boolean {
  const { decisions, tightest } = rule
  return (
    rule.id === before.id &&
    rule.remaining === before.remaining &&
    rule.keys === before.keys &&
    // A higher value means that the window was reset.
    rule.reset <= before.reset &&
    decisions.allow === before.decisions.allow &&
    decisions.deny === before.decisions.deny &&
    decisions.failed === before.decisions.failed &&
    tightest.length === before.tightest.length &&
    tightest.every(({ key, remaining }, at) => {
      const was = before.tightest[at]!
      return key === was.key && remaining === was.remaining
    })
  )
}

const POINT_MS = 2_000
export const MAX_POINTS = 120
/** Only the first limits, up to this number, have a history. */
export const MAX_RULES = 64

export type LimitPoint = readonly [at: number, remaining: number]

interface RemainingLimit {
  readonly id: string
  readonly remaining: number
}

/** The remaining quota of each limit over the last minutes, for a chart. */
export class LimitHistory {
  readonly #points = new Map<string, LimitPoint[]>()
  #takenAt = -Infinity

  /** Adds a point for each limit, unless one was just added; deletes limits that are no longer configured. */
  take(at: number, tightest: () => Iterable<RemainingLimit>): void {
    // Timers are not exact: up to a quarter of the interval early is in time.
    if (at - this.#takenAt < POINT_MS * 0.75) return
    this.#takenAt = at
    const removed = new Set(this.#points.keys())
    let remainingRules = MAX_RULES
    for (const { id, remaining } of tightest()) {
      if (remainingRules-- === 0) break
      removed.delete(id)
      this.#add(id, [at, remaining])
    }
    for (const id of removed) this.#points.delete(id)
  }

  pointsOf(id: string): readonly LimitPoint[] {
    return this.#points.get(id) ?? []
  }

  #add(id: string, point: LimitPoint): void {
    const points = this.#points.get(id)
    if (points === undefined) this.#points.set(id, [point])
    else if (points.push(point) > MAX_POINTS) points.shift()
  }
}
