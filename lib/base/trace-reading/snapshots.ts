// The states of a request that a trace has on its way, and what their heads say about the bodies behind them.

import { members } from './step.ts'
import type { Step } from './step.ts'

/** What the head said about a body. */
export interface BodyFacts {
  readonly type: string
  readonly encoding: string
}

/** A policy that changed the request tells how it looks behind it. */
export function stateOf({ event: { message } }: Step): unknown {
  return message['requestState'] ?? members(message['result'])['snapshot']
}

/** The last one up to this step, or -1. */
export function snapshotAt(steps: readonly Step[], at: number): number {
  return steps.findLastIndex(
    (step, index) => index <= at && members(stateOf(step)) === stateOf(step),
  )
}

export function snapshotName(steps: readonly Step[], at: number): string {
  const { stage, kind, phase } = steps[at]!.event.message
  return `${String(stage ?? kind ?? phase)} (step ${at + 1})`
}

/** Of the body in this step, from the head that the snapshot before it has. */
export function factsOf(steps: readonly Step[], at: number): BodyFacts {
  const { stage } = steps[at]!.event.message
  const snapshot = steps[snapshotAt(steps, at)]
  const state = members(snapshot === undefined ? null : stateOf(snapshot))
  const headers = members(members(state[stage === 'response' ? 'response' : 'request'])['headers'])
  const read = (name: string): string => {
    const value = headers[name]
    return typeof value === 'string' ? value : ''
  }
  return { type: read('content-type'), encoding: read('content-encoding') }
}
