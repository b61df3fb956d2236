// Policies in their order, each with its word on the request, until one answers instead of the backend.

import { toGatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Policy, Reply, Verdict } from '../core/types.ts'

/** `pass` when all of them let the request pass: before this returns, unless a policy must wait. */
export function enforce(exchange: Exchange, policies: readonly Policy[], pass: () => void): void {
  let verdict: Verdict
  try {
    verdict = runPolicies(exchange, policies, 0)
  } catch (error) {
    // Caught here: a backend's policies may be asked by a timer, where nobody else would.
    return exchange.fail(toGatewayError(error))
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
        if (!exchange.isAnswered) exchange.fail(toGatewayError(error))
      },
    )
    .catch((error: unknown) => exchange.fail(toGatewayError(error)))
}

function runPolicies(exchange: Exchange, policies: readonly Policy[], from: number): Verdict {
  for (let at = from; at < policies.length; at++) {
    const policy = policies[at]!
    // What acts on answers only is told of when there is one.
    if (policy.request === undefined) continue
    exchange.trace?.startPolicy()
    const verdict = policy.request(exchange)
    if (verdict instanceof Promise) return resumePolicies(exchange, policies, at, verdict)
    exchange.trace?.endPolicy(policy.kind, statusOf(verdict), 'at once')
    if (verdict === undefined) continue
    exchange.enforcement.answeringPolicy = policy.kind
    return verdict
  }
  return undefined
}

async function resumePolicies(
  exchange: Exchange,
  policies: readonly Policy[],
  at: number,
  verdict: Promise<Reply | undefined>,
): Promise<Reply | undefined> {
  const reply = await verdict
  const { kind } = policies[at]!
  exchange.trace?.endPolicy(kind, statusOf(reply), 'waited')
  if (reply !== undefined) exchange.enforcement.answeringPolicy = kind
  if (reply !== undefined || exchange.isAnswered) return reply
  return runPolicies(exchange, policies, at + 1)
}

function statusOf(reply: Reply | undefined): number | null {
  return reply?.head.status ?? null
}
