// Policies in their order, each with its word on the request, until one answers instead of the backend.

import { faultOf } from '../base/errors.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Policy, Reply, Verdict } from '../base/types.ts'

/** `pass` when all of them let the request pass: before this returns, unless a policy must wait. */
export function enforce(exchange: Exchange, policies: readonly Policy[], pass: () => void): void {
  let verdict: Verdict
  try {
    verdict = ask(exchange, policies, 0)
  } catch (error) {
    // Caught here: a backend's policies may be asked by a timer, where nobody else would.
    return exchange.fail(faultOf(error))
  }
  if (verdict === undefined) return pass()
  if (!(verdict instanceof Promise)) return exchange.answer(verdict)
  verdict
    .then(
      (reply) => {
        // The client may have left in the meantime, or was told that it took too long.
        if (exchange.isAnswered) return reply?.body.cancel()
        return reply === undefined ? pass() : exchange.answer(reply)
      },
      (error: unknown) => {
        if (!exchange.isAnswered) exchange.fail(faultOf(error))
      },
    )
    .catch((error: unknown) => exchange.fail(faultOf(error)))
}

function ask(exchange: Exchange, policies: readonly Policy[], from: number): Verdict {
  for (let at = from; at < policies.length; at++) {
    const policy = policies[at]!
    // What acts on answers only is told of when there is one.
    if (policy.request === undefined) continue
    exchange.trace?.asks()
    const verdict = policy.request(exchange)
    if (verdict instanceof Promise) return goOn(exchange, policies, at, verdict)
    exchange.trace?.asked(policy.kind, statusOf(verdict), 'at once')
    if (verdict === undefined) continue
    exchange.answeredBy = policy.kind
    return verdict
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
  const { kind } = policies[at]!
  exchange.trace?.asked(kind, statusOf(reply), 'waited')
  if (reply !== undefined) exchange.answeredBy = kind
  if (reply !== undefined || exchange.isAnswered) return reply
  return ask(exchange, policies, at + 1)
}

function statusOf(reply: Reply | undefined): number | null {
  return reply?.head.status ?? null
}
