// Runs the policies of a request in their order, until one of them answers: first those that need only the head, then,
// once the body of an LLM request is known, those that limit tokens.

import { toGatewayError } from '../core/errors.ts'
import { NO_COST } from '../core/exchange.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Policy, Reply, TokenEstimate, Verdict } from '../core/types.ts'

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

/**
 * Runs the policies that limit tokens, once the request body is known. The request must pass all of them; if one refuses,
 * what the others charged is refunded.
 */
export function admit(
  exchange: Exchange,
  policies: readonly Policy[],
  estimate: TokenEstimate,
): Verdict {
  const { enforcement } = exchange
  const before = enforcement.charges.length
  const { refusalReason } = enforcement
  // The response to a request whose cost became known late is already sent, so a refusal has no effect.
  const isLate = exchange.isAnswered
  const refundIfRefused = (reply: Reply | undefined): Reply | undefined => {
    if (reply === undefined) return undefined
    if (isLate) enforcement.refusalReason = refusalReason
    // Nor has a refusal after the client has left.
    else if (!exchange.isAnswered) enforcement.answeringPolicy = 'tokenLimit'
    for (const charge of enforcement.charges.slice(before)) charge.settle(NO_COST)
    enforcement.charges = enforcement.charges.slice(0, before)
    return reply
  }
  const verdict = runAdmission(exchange, policies, estimate, 0)
  return verdict instanceof Promise ? verdict.then(refundIfRefused) : refundIfRefused(verdict)
}

function runAdmission(
  exchange: Exchange,
  policies: readonly Policy[],
  estimate: TokenEstimate,
  from: number,
): Verdict {
  // A cost that becomes known after the response is charged by all of them.
  const isLate = exchange.isAnswered
  for (let at = from; at < policies.length; at++) {
    const verdict = policies[at]!.admit?.(exchange, estimate)
    if (verdict instanceof Promise)
      return verdict.then((reply) =>
        reply !== undefined || (exchange.isAnswered && !isLate)
          ? reply
          : runAdmission(exchange, policies, estimate, at + 1),
      )
    if (verdict !== undefined) return verdict
  }
  return undefined
}
