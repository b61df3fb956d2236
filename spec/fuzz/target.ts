// A fuzz target: a property of all inputs, checked with batches of inputs until the time is over. Each batch has its own
// seed, which repeats a failure.

import fc from 'fast-check'
import { Stage } from '../support/gateway.ts'

/** Inputs between two checks of the time. */
const BATCH = 10

export interface Target {
  /** The property, as a sentence. */
  readonly name: string
  /** Runs from this seed on for this time, and at least one batch. */
  run(seed: number, ms: number): Promise<Tried>
}

export interface Tried {
  readonly inputs: number
  /** The seed that repeats the failure, and the smallest input that fails; null without a failure. */
  readonly failure: string | null
}

/** An internal error of a gateway on the stage is a failure, too. */
export function target<T extends [unknown, ...unknown[]]>(
  name: string,
  open: (stage: Stage) => Promise<fc.IAsyncProperty<T>>,
): Target {
  const run = async (seed: number, ms: number): Promise<Tried> => {
    const stage = new Stage()
    const until = performance.now() + ms
    let inputs = 0
    try {
      const property = await open(stage)
      for (let batch = seed; inputs === 0 || performance.now() < until; batch++) {
        const details = await fc.check(property, { seed: batch, numRuns: BATCH })
        inputs += details.numRuns
        if (details.failed) return { inputs, failure: formatFailure(batch, details) }
      }
      return { inputs, failure: null }
    } finally {
      await stage.clear()
    }
  }
  return { name, run }
}

function formatFailure<T>(seed: number, details: fc.RunDetails<T>): string {
  return `seed ${seed}\n${fc.defaultReportMessage(details) ?? ''}`
}
