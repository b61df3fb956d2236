// The end of every charge: whatever nobody has settled is settled with what is known.

import type { Exchange } from '../base/exchange.ts'
import type { Cost } from '../base/types.ts'

/** No provider was asked, or none answered. */
const NOTHING: Cost = { input: 0, output: 0, basis: 'counted' }

export function settleCharges({ charges, spent }: Exchange): void {
  for (const charge of charges) charge.settle(spent ?? NOTHING)
}
