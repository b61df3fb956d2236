// One thing that holds for any input, and how it is tried: batch after batch of inputs until the time is up, each batch
// from a seed of its own, so that what fails can be had again.

import fc from 'fast-check'
import { Stage } from '../support/gateway.ts'

/** Inputs between two looks at the clock. */
const BATCH = 10

export interface Target {
  /** What holds, as a sentence. */
  readonly name: string
  /** From this seed on, for so long, but one batch at least. */
  run(seed: number, ms: number): Promise<Tried>
}

export interface Tried {
  readonly inputs: number
  /** The seed to have it again, and the smallest input that was found; null when all was well. */
  readonly failure: string | null
}

/** What a gateway of the stage notes as its own fault is a failure, too. */
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
        if (details.failed) return { inputs, failure: told(batch, details) }
      }
      return { inputs, failure: null }
    } finally {
      await stage.clear()
    }
  }
  return { name, run }
}

function told<T>(seed: number, details: fc.RunDetails<T>): string {
  return `seed ${seed}\n${fc.defaultReportMessage(details) ?? ''}`
}
