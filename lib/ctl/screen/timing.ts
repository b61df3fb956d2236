// When each step was, and how long it took, as a bar on the scale of the whole request.

import type { Look } from './look.ts'
import type { Step } from '../trace/step.ts'

export interface Timing {
  /** Microseconds since the request was accepted. */
  readonly from: number
  readonly to: number
}

/** A point in time took what passed since the step before it. */
export function timingOf(steps: readonly Step[], at: number): Timing {
  const { eventStart, eventEnd } = steps[at]!.event
  const before = steps[at - 1]?.event.eventEnd ?? 0
  return { from: Math.min(eventStart ?? before, eventEnd), to: eventEnd }
}

export function totalOf(steps: readonly Step[]): number {
  return steps.reduce((most, { event }) => Math.max(most, event.eventEnd), 0)
}

export function barOf({ from, to }: Timing, total: number, width: number, look: Look): string {
  const { stretch, point, rest } = look.signs
  if (width < 1) return ''
  if (total <= 0) return rest.repeat(width)
  const first = Math.min(width - 1, Math.floor((from / total) * width))
  const length = Math.round(((to - from) / total) * width)
  const bar = length < 1 ? point : stretch.repeat(length)
  return (rest.repeat(first) + bar).slice(0, width).padEnd(width, rest)
}
