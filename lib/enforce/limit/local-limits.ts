// The rateLimit.local policy with buckets in this process: request limits, which run before the body is read, and meters
// for LLM token limits.

import { NO_COST } from '../../core/exchange.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Charge, Policy, Reply, TokenMeter, Verdict } from '../../core/types.ts'
import type { Bucket } from './bucket.ts'
import { addRateLimitHeaders, createLimitReply, pickTighterAllowance } from './limit-headers.ts'
import type { MillisecondClock, RateLimitRule } from './limit-rule.ts'
import { TokenCharge } from './token-charge.ts'

/** Also needed when only tokens are limited: it adds the rate limit headers to responses. */
export function createLocalRateLimitPolicy(rules: readonly RateLimitRule[]): Policy {
  // A rule that is attached twice counts once.
  const requestRules = [...new Set(rules)].filter(({ config }) => config.counts === 'requests')
  return {
    kind: 'localRateLimit',
    request(exchange) {
      if (requestRules.length === 0) exchange.trace?.skipPolicy('limits tokens only')
      for (const rule of requestRules) {
        const now = rule.now()
        const bucket = rule.bucketForExchange(exchange, now)
        const isTaken = bucket.take(now)
        const allowance = bucket.allowance(now)
        const decision = isTaken ? 'allow' : 'deny'
        rule.decisions[decision]++
        exchange.trace?.recordLimit(rule.config, allowance, decision)
        exchange.enforcement.allowance = pickTighterAllowance(
          exchange.enforcement.allowance,
          allowance,
        )
        // The requests that earlier rules took are not refunded.
        if (!isTaken) return createLimitReply(exchange, exchange.enforcement.allowance)
      }
      return undefined
    },
    response: addRateLimitHeaders,
  }
}

/**
 * Limits LLM tokens in this process. The estimate is taken at admission, so that concurrent requests cannot all pass, and
 * settled when the real counts are known.
 */
export function createTokenMeter(rules: readonly RateLimitRule[]): TokenMeter {
  const tokenRules = [...new Set(rules)].filter(({ config }) => config.counts === 'tokens')
  return {
    admit(exchange, estimate) {
      const buckets: [RateLimitRule, Bucket][] = []
      let isOpen = true
      for (const rule of tokenRules) {
        const now = rule.now()
        const bucket = rule.bucketForExchange(exchange, now)
        buckets.push([rule, bucket])
        if (!bucket.isOpen(now)) isOpen = false
      }
      // All buckets are checked before any is charged: a refused request is charged nothing.
      const charges: Charge[] = []
      let {
        enforcement: { allowance },
      } = exchange
      const decision = isOpen ? 'allow' : 'deny'
      for (const [{ now, config, decisions }, bucket] of buckets) {
        if (isOpen) charges.push(createTokenCharge(bucket, now, estimate))
        const remaining = bucket.allowance(now())
        decisions[decision]++
        exchange.trace?.recordLimit(config, remaining, decision)
        allowance = pickTighterAllowance(allowance, remaining)
      }
      exchange.enforcement.allowance = allowance
      if (allowance !== null && !isOpen) return createLimitReply(exchange, allowance)
      if (charges.length > 0)
        exchange.enforcement.charges = [...exchange.enforcement.charges, ...charges]
      return undefined
    },
  }
}

function createTokenCharge(bucket: Bucket, now: MillisecondClock, estimate: number): Charge {
  const charge = new TokenCharge(bucket, now)
  charge.raise(estimate)
  return charge
}

/**
 * Combines several meters: a request must pass all of them, in order, and a refused request is charged by none. Returns
 * null when there are none.
 */
export function combineMeters(meters: readonly TokenMeter[]): TokenMeter | null {
  const [only] = meters
  if (only === undefined) return null
  if (meters.length === 1) return only
  return {
    admit(exchange, estimate) {
      const chargeCount = exchange.enforcement.charges.length
      const verdict = askMeters(meters, exchange, estimate, 0)
      if (verdict instanceof Promise)
        return verdict.then((reply) => refundIfRefused(reply, exchange, chargeCount))
      return refundIfRefused(verdict, exchange, chargeCount)
    },
  }
}

/** Refunds the charges of earlier meters when a later one refuses the request. */
function refundIfRefused(
  reply: Reply | undefined,
  exchange: Exchange,
  chargeCount: number,
): Reply | undefined {
  if (reply === undefined) return undefined
  for (const charge of exchange.enforcement.charges.slice(chargeCount)) charge.settle(NO_COST)
  exchange.enforcement.charges = exchange.enforcement.charges.slice(0, chargeCount)
  return reply
}

function askMeters(
  meters: readonly TokenMeter[],
  exchange: Exchange,
  estimate: number,
  from: number,
): Verdict {
  // A request admitted as free may be charged after its response was sent, once the response reports a cost.
  const isLate = exchange.isAnswered
  for (let at = from; at < meters.length; at++) {
    const verdict = meters[at]!.admit(exchange, estimate)
    if (verdict instanceof Promise)
      return verdict.then((reply) =>
        reply !== undefined || (exchange.isAnswered && !isLate)
          ? reply
          : askMeters(meters, exchange, estimate, at + 1),
      )
    if (verdict !== undefined) return verdict
  }
  return undefined
}
