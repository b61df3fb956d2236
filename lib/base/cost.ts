// What most ends of a request cost: nothing.

import type { Charge, Cost } from './types.ts'

/** No provider was asked, or none answered. */
export const NO_COST: Cost = { input: 0, output: 0, basis: 'counted' }

export const NO_CHARGES: readonly Charge[] = []
