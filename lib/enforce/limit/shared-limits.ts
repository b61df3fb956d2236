// The rateLimit.local policy with several workers: the same rules as in `local-limits.ts`, but the buckets are in the
// limit owner process, which is asked once for all limits of a request.

import { NO_COST } from '../../core/exchange.ts'
import type { LimitConfig } from '../../config/policy-types.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { LimitAnswer, RemainingQuota, BucketRef } from './limit-messages.ts'
import { storedKeyOf } from './stored-key.ts'
import type { RateLimitRule } from './limit-rule.ts'
import { addRateLimitHeaders, createLimitReply, pickTighterAllowance } from './limit-headers.ts'
import type { Allowance, Policy, Reply, TokenEstimate, TokenLimitPolicy } from '../../core/types.ts'
import type { LimitOwnerClient } from './limit-owner-client.ts'

export function createSharedRateLimitPolicy(
  rules: readonly RateLimitRule[],
  ownerClient: LimitOwnerClient,
): Policy {
  const requestRules = selectRulesCounting(rules, 'requests')
  return {
    kind: 'localRateLimit',
    request(exchange) {
      if (requestRules.length > 0) return takeFromSharedLimits(exchange, requestRules, ownerClient)
      exchange.trace?.skipPolicy('limits tokens only')
      return undefined
    },
    response: addRateLimitHeaders,
  }
}

export function createSharedTokenLimitPolicy(
  rules: readonly RateLimitRule[],
  ownerClient: LimitOwnerClient,
): TokenLimitPolicy {
  const tokenRules = selectRulesCounting(rules, 'tokens')
  return {
    kind: 'tokenLimit',
    admit: (exchange, estimate) => admitBySharedLimits(exchange, tokenRules, ownerClient, estimate),
  }
}

async function takeFromSharedLimits(
  exchange: Exchange,
  rules: readonly RateLimitRule[],
  ownerClient: LimitOwnerClient,
): Promise<Reply | undefined> {
  const pendingAnswer = ownerClient.takeRequests(bucketsFor(rules, ownerClient, exchange))
  const { decision, left } = await awaitLimitAnswer(exchange, rules, pendingAnswer)
  let allowance: Allowance | null = null
  for (const [index, quota] of left.entries())
    // The owner stops at the first limit that denies, so all limits before the last have allowed the request.
    allowance = recordLimitDecision(
      exchange,
      rules[index]!,
      quota,
      index < left.length - 1 ? 'allow' : decision,
    )
  return allowance !== null && decision === 'deny'
    ? createLimitReply(exchange, allowance)
    : undefined
}

async function admitBySharedLimits(
  exchange: Exchange,
  rules: readonly RateLimitRule[],
  ownerClient: LimitOwnerClient,
  estimate: TokenEstimate,
): Promise<Reply | undefined> {
  // A request admitted as free may be charged after its response was sent, once the response reports a cost.
  const isLate = exchange.isAnswered
  const [pendingAnswer, charge] = ownerClient.admitTokens(
    bucketsFor(rules, ownerClient, exchange),
    estimate,
  )
  try {
    const { decision, left } = await awaitLimitAnswer(exchange, rules, pendingAnswer)
    let allowance: Allowance | null = null
    for (const [index, quota] of left.entries())
      allowance = recordLimitDecision(exchange, rules[index]!, quota, decision)
    if (decision === 'deny')
      return allowance === null ? undefined : createLimitReply(exchange, allowance)
  } catch (error) {
    // The owner may have taken the tokens although no answer arrived.
    charge.settle(NO_COST)
    throw error
  }
  if (exchange.isAnswered && !isLate) charge.settle(NO_COST)
  else exchange.enforcement.charges = [...exchange.enforcement.charges, charge]
  return undefined
}

function selectRulesCounting(
  rules: readonly RateLimitRule[],
  counts: LimitConfig['counts'],
): RateLimitRule[] {
  // A rule that is attached twice counts once.
  return [...new Set(rules)].filter(({ config }) => config.counts === counts)
}

function bucketsFor(
  rules: readonly RateLimitRule[],
  ownerClient: LimitOwnerClient,
  exchange: Exchange,
): BucketRef[] {
  return rules.map((rule) => {
    const key = rule.keyForExchange(exchange)
    return [ownerClient.ruleNumberOf(rule), key === null ? null : storedKeyOf(key)]
  })
}

/** Throws when there is no answer: an uncounted request is never admitted. */
async function awaitLimitAnswer(
  exchange: Exchange,
  rules: readonly RateLimitRule[],
  pendingAnswer: Promise<LimitAnswer>,
): Promise<NonNullable<LimitAnswer>> {
  let answer: LimitAnswer = null
  let reason = 'the limit owner could not decide'
  try {
    answer = await pendingAnswer
  } catch (error) {
    reason = (error as Error).message
  }
  if (answer !== null) return answer
  for (const { config, decisions } of rules) {
    decisions.failed++
    exchange.trace?.recordLimitFailure(config, reason)
  }
  throw new GatewayError('LIMITS_UNAVAILABLE', 'rate limits are unavailable')
}

/** Returns the tightest allowance so far. */
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
