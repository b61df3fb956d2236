// When each step of a trace was, and how long it took, on the scale of the whole request.

import type { Step } from './step.ts'

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
