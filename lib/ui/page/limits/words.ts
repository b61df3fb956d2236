// A rate limit in words: what it allows, and how much of it is left. Pure.

import type { LimitRule } from '../../../admin/page-api/page-api-types.ts'
import { some, wholeText } from '../map/words.ts'

/** How low a limit was lately counts when limits are put in order: one of a second is full again before it is looked at. */
const LATELY = 60_000
/** Below this share, little is left. */
const LITTLE = 0.2
/** Limits change places only when they differ by this share. */
const STEP = 0.05

const PERIODS: readonly (readonly [number, string])[] = [
  [1_000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
]

/** `1,000 tokens per minute`, `10 requests per second, up to 30 at once` */
export function limitText({ counts, amount, limit, interval }: LimitRule): string {
  const what = some(amount, counts.slice(0, -1))
  const burst = limit > amount ? `, up to ${wholeText(limit)} at once` : ''
  return `${what} per ${periodText(interval)}${burst}`
}

/** `minute`, `90 s` */
export function periodText(interval: number): string {
  return PERIODS.find(([ms]) => ms === interval)?.[1] ?? exactText(interval)
}

function exactText(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  if (ms % 60_000 === 0) return `${ms / 60_000} min`
  return `${ms / 1_000} s`
}

/** Of the bucket that has the least: of a key, or the one for all. */
export function leftOf({ remaining, tightest }: LimitRule): number {
  return Math.min(remaining, tightest[0]?.remaining ?? remaining)
}

/** Whose bucket that is; null for the one for all. */
export function tightestKey({ remaining, tightest }: LimitRule): string | null {
  const [first] = tightest
  return first !== undefined && first.remaining <= remaining ? first.key : null
}

export function shareLeft(left: number, limit: number): number {
  return limit > 0 ? Math.min(Math.max(left / limit, 0), 1) : 0
}

export type Level = 'empty' | 'little' | 'enough'

export function levelOf(left: number, limit: number): Level {
  if (left <= 0) return 'empty'
  return left / limit < LITTLE ? 'little' : 'enough'
}

/** The lowest share of the last minute. */
export function tightnessOf(rule: LimitRule): number {
  const { limit, history } = rule
  const from = (history.at(-1)?.[0] ?? 0) - LATELY
  const lowest = history
    .filter(([at]) => at >= from)
    .reduce((least, [, remaining]) => Math.min(least, remaining), leftOf(rule))
  return Math.round(shareLeft(lowest, limit) / STEP) * STEP
}

export type Order = 'tightest' | 'written'

/** Those that fit, in this order. */
export function chosenRules(rules: readonly LimitRule[], words: string, order: Order): LimitRule[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  const fitting = rules.filter((rule) => {
    const { name, owner, counts, key, tightest } = rule
    const text = [
      name,
      owner,
      counts,
      key ?? '',
      limitText(rule),
      ...tightest.map((one) => one.key),
    ]
    const all = text.join('\n').toLowerCase()
    return wanted.every((word) => all.includes(word))
  })
  if (order === 'written') return fitting
  return fitting
    .map((rule) => ({
      rule,
      tightness: tightnessOf(rule),
      now: shareLeft(leftOf(rule), rule.limit),
    }))
    .sort((one, other) => one.tightness - other.tightness || one.now - other.now)
    .map(({ rule }) => rule)
}
