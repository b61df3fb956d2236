// The rateLimit.local policy with buckets in this process: request limits, which run before the body is read, and LLM
// token limits, which run when it is.

import type { Charge, Policy, TokenEstimate, TokenLimitPolicy } from '../../core/types.ts'
import type { Bucket } from './bucket.ts'
import { addRateLimitHeaders, createLimitReply, pickTighterAllowance } from './limit-headers.ts'
import type { RateLimitRule } from './limit-rule.ts'
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
 * Limits LLM tokens in this process. At admission a request is charged what such requests cost before, or its estimate, so
 * that concurrent requests cannot all pass. This is settled when the real counts are known.
 */
export function createTokenLimitPolicy(rules: readonly RateLimitRule[]): TokenLimitPolicy {
  const tokenRules = [...new Set(rules)].filter(({ config }) => config.counts === 'tokens')
  return {
    kind: 'tokenLimit',
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
      for (const [rule, bucket] of buckets) {
        const { now, config, decisions } = rule
        if (isOpen) charges.push(createTokenCharge(rule, bucket, estimate))
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

function createTokenCharge(
  { costs, now }: RateLimitRule,
  bucket: Bucket,
  estimate: TokenEstimate,
): Charge {
  const charge = new TokenCharge(costs, bucket, now)
  charge.raise(estimate)
  return charge
}
