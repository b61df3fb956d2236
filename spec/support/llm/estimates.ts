// Estimates of requests, for specs of token limits.

import { randomUUID } from 'node:crypto'
import type { TokenEstimate } from '../../../lib/core/types.ts'

/** An estimate for a model that no other request names, so that nothing was learned about it. */
export function estimateFor(input: number): TokenEstimate {
  return { model: randomUUID(), input, output: 0, maxOutput: null }
}
