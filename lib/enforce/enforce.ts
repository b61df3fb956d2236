// Policies in their order, each with its word on the request, until one answers instead of the backend.

import type { Exchange } from '../base/exchange.ts'
import type { Policy, Reply, Verdict } from '../base/types.ts'

/** Undefined when all of them let it pass; without a wait unless a policy has one. */
export function enforce(exchange: Exchange, policies: readonly Policy[], from = 0): Verdict {
  for (let at = from; at < policies.length; at++) {
    const verdict = policies[at]!.request?.(exchange)
    if (verdict === undefined) continue
    return verdict instanceof Promise ? goOn(exchange, policies, at, verdict) : verdict
  }
  return undefined
}

async function goOn(
  exchange: Exchange,
  policies: readonly Policy[],
  at: number,
  verdict: Promise<Reply | undefined>,
): Promise<Reply | undefined> {
  const reply = await verdict
  // A client that left in the meantime is asked about nothing more.
  if (reply !== undefined || exchange.phase === 'settled') return reply
  return enforce(exchange, policies, at + 1)
}
