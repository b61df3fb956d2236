// rateLimit.local: limits counted in this process. Requests are counted here, before a body is looked at; tokens by
// `local-limits.ts`. Whatever was counted, the answer tells what is left.

import type { Charge, Policy, TokenLimitPolicy } from '../../core/types.ts'
import type { Bucket } from './bucket.ts'
import { addRateLimitHeaders, createLimitReply, pickTighterAllowance } from './limit-headers.ts'
import type { MillisecondClock, RateLimitRule } from './limit-rule.ts'
import { TokenCharge } from './token-charge.ts'

/** Needed also where only tokens are limited, for the headers. */
export function createLocalRateLimitPolicy(rules: readonly RateLimitRule[]): Policy {
  // A rule that was attached twice is one limit all the same.
  const counting = [...new Set(rules)].filter(({ config }) => config.counts === 'requests')
  return {
    kind: 'localRateLimit',
    request(exchange) {
      if (counting.length === 0) exchange.trace?.skipPolicy('it counts tokens, once they are known')
      for (const rule of counting) {
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
        // What earlier rules took stays taken.
        if (!isTaken) return createLimitReply(exchange, exchange.enforcement.allowance)
      }
      return undefined
    },
    response: addRateLimitHeaders,
  }
}

// Limits of LLM tokens counted in this process: an estimate is taken at admission, so that requests at the same time
// cannot all slip past, and settled when the real counts are known.

export function createTokenLimitPolicy(rules: readonly RateLimitRule[]): TokenLimitPolicy {
  const counting = [...new Set(rules)].filter(({ config }) => config.counts === 'tokens')
  return {
    kind: 'tokenLimit',
    admit(exchange, estimate) {
      const met: [RateLimitRule, Bucket][] = []
      let isOpen = true
      for (const rule of counting) {
        const now = rule.now()
        const bucket = rule.bucketForExchange(exchange, now)
        met.push([rule, bucket])
        if (!bucket.isOpen(now)) isOpen = false
      }
      // All are asked before any is charged: a request that is refused owes nothing.
      const charges: Charge[] = []
      let {
        enforcement: { allowance },
      } = exchange
      const decision = isOpen ? 'allow' : 'deny'
      for (const [{ now, config, decisions }, bucket] of met) {
        if (isOpen) charges.push(createTokenCharge(bucket, now, estimate))
        const left = bucket.allowance(now())
        decisions[decision]++
        exchange.trace?.recordLimit(config, left, decision)
        allowance = pickTighterAllowance(allowance, left)
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
