// Runs the policies of a request in order, until one of them sends a response instead of the backend.

import { toGatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Policy, Reply, Verdict } from '../core/types.ts'

/** Calls `pass` when all policies pass the request: before this function returns, unless a policy is asynchronous. */
export function enforce(exchange: Exchange, policies: readonly Policy[], pass: () => void): void {
  let verdict: Verdict
  try {
    verdict = runPolicies(exchange, policies, 0)
  } catch (error) {
    // Caught here because backend policies may run from a timer, where no caller would catch the error.
    return exchange.fail(toGatewayError(error))
  }
  if (verdict === undefined) return pass()
  if (!(verdict instanceof Promise)) return exchange.answer(verdict)
  verdict
    .then(
      (reply) => {
        // The client may have closed the connection in the meantime, or received a timeout response.
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
    // Policies that act only on responses are traced when there is a response.
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
