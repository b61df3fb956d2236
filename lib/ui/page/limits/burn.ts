// How fast a limit is being used up, and when nothing will be left at this pace. Pure.

import { some, wholeText } from '../map/words.ts'
import { periodText } from './words.ts'
import { spanText } from '../parts/words.ts'
import type { LimitRule } from '../../../admin/page-api/page-api-types.ts'

export type Point = readonly [at: number, remaining: number]

/** A pace is that of the last seconds, as far as the limit was not filled up between. */
const PACE_SPAN = 30_000
/** Less tells no pace. */
const LEAST_SPAN = 3_000
/** Windows as short as this turn before anybody has read what is said about them. */
const SHORT = 10_000

export type Burn =
  /** Nothing is left, until it fills up. */
  | { readonly kind: 'empty' }
  /** Nothing will be left in `time`, and that is before it fills up. */
  | { readonly kind: 'ending'; readonly time: number }
  /** It falls, and so much will be left when it fills up. */
  | { readonly kind: 'lasting'; readonly left: number }
  | { readonly kind: 'steady' }

export interface Now {
  readonly left: number
  /** Milliseconds until it fills up. */
  readonly refill: number
  readonly interval: number
}

export function burnOf(points: readonly Point[], { left, refill, interval }: Now): Burn {
  if (left <= 0) return { kind: 'empty' }
  const pace = interval <= SHORT ? 0 : paceOf(points)
  if (pace <= 0) return { kind: 'steady' }
  const time = left / pace
  if (time < refill) return { kind: 'ending', time }
  return { kind: 'lasting', left: Math.max(left - pace * refill, 0) }
}

/** What is used in a millisecond, since it was filled up last; 0 when nothing is, or too little is known. */
export function paceOf(points: readonly Point[]): number {
  const last = points.at(-1)
  if (last === undefined) return 0
  let first = last
  for (let index = points.length - 2; index >= 0; index--) {
    const point = points[index]!
    if (point[1] < first[1] || last[0] - point[0] > PACE_SPAN) break
    first = point
  }
  const span = last[0] - first[0]
  return span < LEAST_SPAN ? 0 : (first[1] - last[1]) / span
}

/** `Empty in about 40 s at this pace` */
export function burnText(
  burn: Burn,
  rule: Pick<LimitRule, 'counts' | 'interval'>,
  refill: number,
): string {
  const more = refillText(rule.interval, refill)
  switch (burn.kind) {
    case 'empty':
      return `Empty, ${more}`
    case 'ending':
      return `Empty in about ${roundTime(burn.time)} at this pace`
    case 'lasting': {
      const left = some(roundCount(burn.left), rule.counts.slice(0, -1))
      return `${sentence(more)}, with about ${left} left at this pace`
    }
    case 'steady':
      return sentence(more)
  }
}

function refillText(interval: number, refill: number): string {
  if (interval <= SHORT) return `refills every ${periodText(interval)}`
  return `refills ${refill < 1_000 ? 'now' : `in ${spanText(Math.ceil(refill / 1_000) * 1_000)}`}`
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}

/** No more exact than it is known. */
function roundTime(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 10) return `${Math.max(Math.round(seconds), 1)} s`
  return spanText(Math.round(seconds / 5) * 5_000)
}

function roundCount(count: number): number {
  const unit = 10 ** Math.max(Math.floor(Math.log10(Math.max(count, 1))) - 1, 0)
  return Math.round(count / unit) * unit
}

/** Where the line would go on: to nothing, or as far as the limit fills up. */
export function aheadOf(points: readonly Point[], burn: Burn, refill: number): Point[] {
  const last = points.at(-1)
  if (last === undefined) return []
  if (burn.kind === 'ending') return [last, [last[0] + burn.time, 0]]
  if (burn.kind === 'lasting') return [last, [last[0] + refill, burn.left]]
  return []
}

/** The past as it was told, and what is left since then: `elapsed` milliseconds of it. */
export function upToNow(
  history: readonly Point[],
  left: number,
  elapsed: number,
): readonly Point[] {
  const last = history.at(-1)
  if (last === undefined || (elapsed <= 0 && last[1] === left)) return history
  return [...history, [last[0] + Math.max(elapsed, 1), left]]
}

/** For those who read numbers only. */
export function leftText(left: number, limit: number): string {
  return `${wholeText(Math.max(left, 0))} of ${wholeText(limit)} left`
}
