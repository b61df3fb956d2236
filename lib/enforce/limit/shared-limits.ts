// rateLimit.local where several workers serve: the rules are those of `local-limits.ts` and `local-limits.ts`, but the buckets
// are with one owner, who is asked once for all limits of a request.

import { NO_COST } from '../../core/exchange.ts'
import type { LimitConfig } from '../../config/policy-types.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { LimitAnswer, RemainingQuota, BucketRef } from './limit-messages.ts'
import { storedKeyOf } from './keyed-buckets.ts'
import type { RateLimitRule } from './limit-rule.ts'
import { addRateLimitHeaders, createLimitReply, pickTighterAllowance } from './limit-headers.ts'
import type { Allowance, Policy, Reply, TokenLimitPolicy } from '../../core/types.ts'
import type { LimitOwnerClient } from './limit-owner-client.ts'

export function createSharedRateLimitPolicy(
  rules: readonly RateLimitRule[],
  asker: LimitOwnerClient,
): Policy {
  const counting = selectRulesCounting(rules, 'requests')
  return {
    kind: 'localRateLimit',
    request(exchange) {
      if (counting.length > 0) return takeFromSharedLimits(exchange, counting, asker)
      exchange.trace?.skipPolicy('it counts tokens, once they are known')
      return undefined
    },
    response: addRateLimitHeaders,
  }
}

export function createSharedTokenLimitPolicy(
  rules: readonly RateLimitRule[],
  asker: LimitOwnerClient,
): TokenLimitPolicy {
  const counting = selectRulesCounting(rules, 'tokens')
  return {
    kind: 'tokenLimit',
    admit: (exchange, estimate) => admitBySharedLimits(exchange, counting, asker, estimate),
  }
}

async function takeFromSharedLimits(
  exchange: Exchange,
  counting: readonly RateLimitRule[],
  asker: LimitOwnerClient,
): Promise<Reply | undefined> {
  const asked = asker.takeRequests(bucketsFor(counting, asker, exchange))
  const { decision, left } = await awaitLimitAnswer(exchange, counting, asked)
  let allowance: Allowance | null = null
  for (const [at, one] of left.entries())
    // Whoever was asked after it has let it pass.
    allowance = recordLimitDecision(
      exchange,
      counting[at]!,
      one,
      at < left.length - 1 ? 'allow' : decision,
    )
  return allowance !== null && decision === 'deny'
    ? createLimitReply(exchange, allowance)
    : undefined
}

async function admitBySharedLimits(
  exchange: Exchange,
  counting: readonly RateLimitRule[],
  asker: LimitOwnerClient,
  estimate: number,
): Promise<Reply | undefined> {
  // What was let pass as free may be charged when its answer tells of a cost.
  const isLate = exchange.isAnswered
  const [asked, charge] = asker.admitTokens(bucketsFor(counting, asker, exchange), estimate)
  try {
    const { decision, left } = await awaitLimitAnswer(exchange, counting, asked)
    let allowance: Allowance | null = null
    for (const [at, one] of left.entries())
      allowance = recordLimitDecision(exchange, counting[at]!, one, decision)
    if (decision === 'deny')
      return allowance === null ? undefined : createLimitReply(exchange, allowance)
  } catch (error) {
    // The owner may have taken it all the same.
    charge.settle(NO_COST)
    throw error
  }
  if (exchange.isAnswered && !isLate) charge.settle(NO_COST)
  else exchange.enforcement.charges = [...exchange.enforcement.charges, charge]
  return undefined
}

function selectRulesCounting(
  rules: readonly RateLimitRule[],
  what: LimitConfig['counts'],
): RateLimitRule[] {
  // A rule that was attached twice is one limit all the same.
  return [...new Set(rules)].filter(({ config }) => config.counts === what)
}

function bucketsFor(
  rules: readonly RateLimitRule[],
  asker: LimitOwnerClient,
  exchange: Exchange,
): BucketRef[] {
  return rules.map((rule) => {
    const key = rule.keyForExchange(exchange)
    return [asker.ruleNumberOf(rule), key === null ? null : storedKeyOf(key)]
  })
}

/** Nobody is let pass uncounted. */
async function awaitLimitAnswer(
  exchange: Exchange,
  counting: readonly RateLimitRule[],
  asked: Promise<LimitAnswer>,
): Promise<NonNullable<LimitAnswer>> {
  let answer: LimitAnswer = null
  let reason = 'the owner of limits does not know it'
  try {
    answer = await asked
  } catch (error) {
    reason = (error as Error).message
  }
  if (answer !== null) return answer
  for (const { config, decisions } of counting) {
    decisions.failed++
    exchange.trace?.recordLimitFailure(config, reason)
  }
  throw new GatewayError('LIMITS_UNAVAILABLE', 'rate limits cannot be asked')
}

/** Gives the tightest budget so far. */
function recordLimitDecision(
  exchange: Exchange,
  { config, decisions }: RateLimitRule,
  [remaining, reset]: RemainingQuota,
  decision: 'allow' | 'deny',
): Allowance {
  const allowance = { limit: config.most, remaining, reset }
  decisions[decision]++
  exchange.trace?.recordLimit(config, allowance, decision)
  exchange.enforcement.allowance = pickTighterAllowance(exchange.enforcement.allowance, allowance)
  return exchange.enforcement.allowance
}
