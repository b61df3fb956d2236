// Several token limits as one: a request must pass all of them, and one that is refused owes nothing to any.

import { NO_COST } from '../base/cost.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Meter, Reply, Verdict } from '../base/types.ts'

/** They are asked in order; null for none. */
export function allMeters(meters: readonly Meter[]): Meter | null {
  const [only] = meters
  if (only === undefined) return null
  if (meters.length === 1) return only
  return {
    admit(exchange, estimate) {
      const before = exchange.charges.length
      const verdict = ask(meters, exchange, estimate, 0)
      if (verdict instanceof Promise)
        return verdict.then((reply) => unless(reply, exchange, before))
      return unless(verdict, exchange, before)
    },
  }
}

/** A refusal gives back what those before it took. */
function unless(reply: Reply | undefined, exchange: Exchange, before: number): Reply | undefined {
  if (reply === undefined) return undefined
  for (const charge of exchange.charges.slice(before)) charge.settle(NO_COST)
  exchange.charges = exchange.charges.slice(0, before)
  return reply
}

function ask(
  meters: readonly Meter[],
  exchange: Exchange,
  estimate: number,
  from: number,
): Verdict {
  // Whoever is asked behind the answer is told what it has cost.
  const isLate = exchange.isAnswered
  for (let at = from; at < meters.length; at++) {
    const verdict = meters[at]!.admit(exchange, estimate)
    if (verdict instanceof Promise)
      return verdict.then((reply) =>
        reply !== undefined || (exchange.isAnswered && !isLate)
          ? reply
          : ask(meters, exchange, estimate, at + 1),
      )
    if (verdict !== undefined) return verdict
  }
  return undefined
}
