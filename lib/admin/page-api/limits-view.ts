// /api/limits: what is left of each limit, by rule and by the keys that have the least.

import type { LimitStatus } from '../../config/limit-status.ts'
import type { ConfigFormatter } from '../../config/show.ts'
import { limitList } from '../../core/runtime-views.ts'
import { REDACTED } from '../../text/redaction.ts'
import type { LimitRule, LimitsView } from './page-api-types.ts'

export function buildLimitsView(
  all: Iterable<LimitStatus>,
  showing: ConfigFormatter,
  history: LimitHistory,
): LimitsView {
  return { rules: limitList(all, (status) => ruleOf(status, showing, history.pointsOf(status.id))) }
}

function ruleOf(
  status: LimitStatus,
  showing: ConfigFormatter,
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
    key: key === null ? null : String(showing.format(key)),
    remaining: shared.remaining,
    reset: shared.reset,
    keys,
    tightest: tightestOf(status, showing),
    decisions: { ...status.decisions },
    history,
  }
}

/** Values of a key are names of users mostly; those of one that reads credentials are credentials. */
function tightestOf(
  { key, tightest }: LimitStatus,
  showing: ConfigFormatter,
): LimitRule['tightest'] {
  if (key === null) return []
  const shown = showing.keyValueFormatter(key)
  return tightest.map((one) => {
    const value = shown(one.key)
    return { key: typeof value === 'string' ? value : REDACTED, remaining: one.remaining }
  })
}

/** Whether one tells nothing that the other has not told: that time passes goes without saying. */
export function isSameLimits(one: LimitsView, other: LimitsView): boolean {
  const { shown, more } = one.rules
  const before = other.rules.shown
  return (
    more === other.rules.more &&
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
    // A window has turned.
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

// What was left of each limit over the last minutes, for a line that shows how fast it burns down.

const POINT_MS = 2_000
export const MAX_POINTS = 120
/** The first ones; whoever has more does not look at them all. */
export const MAX_RULES = 64

export type LimitPoint = readonly [at: number, remaining: number]

interface RemainingLimit {
  readonly id: string
  readonly remaining: number
}

export class LimitHistory {
  readonly #points = new Map<string, LimitPoint[]>()
  #takenAt = -Infinity

  /** A point for each, unless that was done just now; limits that are gone are forgotten. */
  take(at: number, tightest: () => Iterable<RemainingLimit>): void {
    // Half a sample early is not early: timers are not that exact.
    if (at - this.#takenAt < POINT_MS * 0.75) return
    this.#takenAt = at
    const gone = new Set(this.#points.keys())
    let left = MAX_RULES
    for (const { id, remaining } of tightest()) {
      if (left-- === 0) break
      gone.delete(id)
      this.#add(id, [at, remaining])
    }
    for (const id of gone) this.#points.delete(id)
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
