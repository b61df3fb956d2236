// A request that was let pass as free, and whose answer tells that it was not.

import type { Exchange } from '../../base/exchange.ts'
import type { Cost, Meter } from '../../base/types.ts'

/** Where nothing is left any more, nothing is taken. */
export function chargeLate(meter: Meter, exchange: Exchange, cost: Cost): void {
  const { refusal } = exchange
  const settle = (): void => {
    // Whoever says no says it too late.
    exchange.refusal = refusal
    for (const charge of exchange.charges) charge.settle(cost)
  }
  const verdict = meter.admit(exchange, 0)
  if (verdict instanceof Promise) verdict.then(settle, settle)
  else settle()
}
