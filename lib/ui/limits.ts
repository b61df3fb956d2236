// /api/limits: what is left of each limit, by rule and by the keys that have the least.

import type { Showing } from '../base/config/show.ts'
import type { LimitStatus } from '../base/limit/status.ts'
import { someOf } from '../base/live/views.ts'
import { REDACTED } from '../base/redact/names.ts'
import type { LimitRule, LimitsView } from './api.ts'
import type { LimitHistory } from './limit-history.ts'

export function limitsView(
  all: Iterable<LimitStatus>,
  showing: Showing,
  history: LimitHistory,
): LimitsView {
  return { rules: someOf(all, (status) => ruleOf(status, showing, history.of(status.id))) }
}

function ruleOf(status: LimitStatus, showing: Showing, history: LimitRule['history']): LimitRule {
  const { id, name, owner, counts, amount, limit, interval, key, keys, shared } = status
  return {
    id,
    name,
    owner,
    counts,
    amount,
    limit,
    interval,
    key: key === null ? null : String(showing.show(key)),
    remaining: shared.remaining,
    reset: shared.reset,
    keys,
    tightest: tightestOf(status, showing),
    decisions: { ...status.decisions },
    history,
  }
}

/** Values of a key are names of users mostly; those of one that reads credentials are credentials. */
function tightestOf({ key, tightest }: LimitStatus, showing: Showing): LimitRule['tightest'] {
  if (key === null) return []
  const shown = showing.valuesOf(key)
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
