// How fast a bucket is used up and when it will be empty, and the texts for limits. Draws nothing.

import type { LimitRule } from '../../admin/page-api/page-api-types.ts'
import { countedText, wholeText } from '../map/map-texts.ts'
import { spanText } from '../parts/number-text.ts'

export type Point = readonly [at: number, remaining: number]

/** The rate is measured over these last milliseconds, or since the last refill. */
const RATE_SPAN_MS = 30_000
/** A shorter time gives no rate. */
const MIN_RATE_SPAN_MS = 3_000
/** For windows this short, a time until the refill would change faster than one can read it. */
const SHORT_INTERVAL_MS = 10_000

export type Consumption =
  /** Nothing is left until the refill. */
  | { readonly kind: 'empty' }
  /** Nothing will be left in `time`, before the refill. */
  | { readonly kind: 'ending'; readonly time: number }
  /** It decreases, and this much will be left at the refill. */
  | { readonly kind: 'lasting'; readonly left: number }
  | { readonly kind: 'steady' }

export interface Now {
  readonly left: number
  /** Milliseconds until the refill. */
  readonly refill: number
  readonly interval: number
}

export function consumptionOf(
  points: readonly Point[],
  { left, refill, interval }: Now,
): Consumption {
  if (left <= 0) return { kind: 'empty' }
  const pace = interval <= SHORT_INTERVAL_MS ? 0 : rateOf(points)
  if (pace <= 0) return { kind: 'steady' }
  const time = left / pace
  if (time < refill) return { kind: 'ending', time }
  return { kind: 'lasting', left: Math.max(left - pace * refill, 0) }
}

/** Consumption per millisecond since the last refill; 0 when there is none, or too little is known. */
export function rateOf(points: readonly Point[]): number {
  const last = points.at(-1)
  if (last === undefined) return 0
  let first = last
  for (let index = points.length - 2; index >= 0; index--) {
    const point = points[index]!
    if (point[1] < first[1] || last[0] - point[0] > RATE_SPAN_MS) break
    first = point
  }
  const span = last[0] - first[0]
  return span < MIN_RATE_SPAN_MS ? 0 : (first[1] - last[1]) / span
}

/** `Empty in about 40 s at this rate` */
export function consumptionText(
  burn: Consumption,
  rule: Pick<LimitRule, 'counts' | 'interval'>,
  refill: number,
): string {
  const more = refillText(rule.interval, refill)
  switch (burn.kind) {
    case 'empty':
      return `Empty, ${more}`
    case 'ending':
      return `Empty in about ${roundTime(burn.time)} at this rate`
    case 'lasting': {
      const left = countedText(roundCount(burn.left), rule.counts.slice(0, -1))
      return `${sentence(more)}, with about ${left} left at this rate`
    }
    case 'steady':
      return sentence(more)
  }
}

function refillText(interval: number, refill: number): string {
  if (interval <= SHORT_INTERVAL_MS) return `refills every ${periodText(interval)}`
  return `refills ${refill < 1_000 ? 'now' : `in ${spanText(Math.ceil(refill / 1_000) * 1_000)}`}`
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}

/** Rounded, since the rate is an estimate. */
function roundTime(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 10) return `${Math.max(Math.round(seconds), 1)} s`
  return spanText(Math.round(seconds / 5) * 5_000)
}

function roundCount(count: number): number {
  const unit = 10 ** Math.max(Math.floor(Math.log10(Math.max(count, 1))) - 1, 0)
  return Math.round(count / unit) * unit
}

/** The forecast line: until the bucket is empty, or until the refill. */
export function forecastOf(points: readonly Point[], burn: Consumption, refill: number): Point[] {
  const last = points.at(-1)
  if (last === undefined) return []
  if (burn.kind === 'ending') return [last, [last[0] + burn.time, 0]]
  if (burn.kind === 'lasting') return [last, [last[0] + refill, burn.left]]
  return []
}

/** The received history, continued with the current value for the `elapsed` milliseconds since. */
export function extendToNow(
  history: readonly Point[],
  left: number,
  elapsed: number,
): readonly Point[] {
  const last = history.at(-1)
  if (last === undefined || (elapsed <= 0 && last[1] === left)) return history
  return [...history, [last[0] + Math.max(elapsed, 1), left]]
}

/** As text, for screen readers. */
export function remainingText(left: number, limit: number): string {
  return `${wholeText(Math.max(left, 0))} of ${wholeText(limit)} left`
}

/** Limits are ordered by their recent low: one of a second is full again before one can look at it. */
const RECENT_MS = 60_000
/** Below this share, a limit is nearly exhausted. */
const LOW_SHARE = 0.2
/** Limits swap places only when they differ by this share. */
const STEP = 0.05

const PERIODS: readonly (readonly [number, string])[] = [
  [1_000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
]

/** `1,000 tokens per minute`, `10 requests per second, up to 30 at once` */
export function limitText({ counts, amount, limit, interval }: LimitRule): string {
  const what = countedText(amount, counts.slice(0, -1))
  const burst = limit > amount ? `, up to ${wholeText(limit)} at once` : ''
  return `${what} per ${periodText(interval)}${burst}`
}

/** `minute`, `90 s` */
function periodText(interval: number): string {
  return PERIODS.find(([ms]) => ms === interval)?.[1] ?? exactText(interval)
}

function exactText(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  if (ms % 60_000 === 0) return `${ms / 60_000} min`
  return `${ms / 1_000} s`
}

/** Of the bucket with the least left: that of a key, or the shared one. */
export function leftOf({ remaining, tightest }: LimitRule): number {
  return Math.min(remaining, tightest[0]?.remaining ?? remaining)
}

/** The key of that bucket; null for the shared one. */
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
  return left / limit < LOW_SHARE ? 'little' : 'enough'
}

/** The lowest share of the last minute. */
export function recentLowOf(rule: LimitRule): number {
  const { limit, history } = rule
  const from = (history.at(-1)?.[0] ?? 0) - RECENT_MS
  const lowest = history
    .filter(([at]) => at >= from)
    .reduce((least, [, remaining]) => Math.min(least, remaining), leftOf(rule))
  return Math.round(shareLeft(lowest, limit) / STEP) * STEP
}

export type Order = 'tightest' | 'written'

/** The rules that match the filter, in this order. */
export function selectRules(rules: readonly LimitRule[], words: string, order: Order): LimitRule[] {
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
      tightness: recentLowOf(rule),
      now: shareLeft(leftOf(rule), rule.limit),
    }))
    .sort((one, other) => one.tightness - other.tightness || one.now - other.now)
    .map(({ rule }) => rule)
}
