// The end of every charge: whatever nobody has settled is settled with what is known.

import { NO_COST } from '../base/cost.ts'
import type { Exchange } from '../base/exchange.ts'

export function settleCharges({ charges, spent }: Exchange): void {
  for (const charge of charges) charge.settle(spent ?? NO_COST)
}
