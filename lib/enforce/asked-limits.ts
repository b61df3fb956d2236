// rateLimit.local where several workers serve: the rules are those of `local-limit.ts` and `token-limits.ts`, but the buckets
// are with one owner, who is asked once for all limits of a request.

import { NO_COST } from '../base/cost.ts'
import type { LimitConfig } from '../base/config/limit-types.ts'
import { GatewayError } from '../base/errors.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Answer, Left, Place } from '../base/limit/asking.ts'
import { keptKey } from '../base/limit/keyed-buckets.ts'
import type { Rule } from '../base/limit/rule.ts'
import { tighter } from '../base/limit/tighter.ts'
import type { Allowance, Meter, Policy, Reply } from '../base/types.ts'
import { tellAllowance } from './allowance-fields.ts'
import type { LimitAsker } from './limit-asker.ts'
import { limitReply } from './local-limit-reply.ts'

export function askedLimit(rules: readonly Rule[], asker: LimitAsker): Policy {
  const counting = countingOf(rules, 'requests')
  return {
    kind: 'localRateLimit',
    request(exchange) {
      if (counting.length > 0) return take(exchange, counting, asker)
      exchange.trace?.skip('it counts tokens, once they are known')
      return undefined
    },
    response: tellAllowance,
  }
}

export function askedTokenLimits(rules: readonly Rule[], asker: LimitAsker): Meter {
  const counting = countingOf(rules, 'tokens')
  return { admit: (exchange, estimate) => admit(exchange, counting, asker, estimate) }
}

async function take(
  exchange: Exchange,
  counting: readonly Rule[],
  asker: LimitAsker,
): Promise<Reply | undefined> {
  const asked = asker.take(placesOf(counting, asker, exchange))
  const { decision, left } = await answerOf(exchange, counting, asked)
  let allowance: Allowance | null = null
  for (const [at, one] of left.entries())
    // Whoever was asked after it has let it pass.
    allowance = tell(exchange, counting[at]!, one, at < left.length - 1 ? 'allow' : decision)
  return allowance !== null && decision === 'deny' ? limitReply(exchange, allowance) : undefined
}

async function admit(
  exchange: Exchange,
  counting: readonly Rule[],
  asker: LimitAsker,
  estimate: number,
): Promise<Reply | undefined> {
  // What was let pass as free may be charged when its answer tells of a cost.
  const isLate = exchange.isAnswered
  const [asked, charge] = asker.admit(placesOf(counting, asker, exchange), estimate)
  try {
    const { decision, left } = await answerOf(exchange, counting, asked)
    let allowance: Allowance | null = null
    for (const [at, one] of left.entries()) allowance = tell(exchange, counting[at]!, one, decision)
    if (decision === 'deny') return allowance === null ? undefined : limitReply(exchange, allowance)
  } catch (error) {
    // The owner may have taken it all the same.
    charge.settle(NO_COST)
    throw error
  }
  if (exchange.isAnswered && !isLate) charge.settle(NO_COST)
  else exchange.charges = [...exchange.charges, charge]
  return undefined
}

function countingOf(rules: readonly Rule[], what: LimitConfig['counts']): Rule[] {
  // A rule that was attached twice is one limit all the same.
  return [...new Set(rules)].filter(({ config }) => config.counts === what)
}

function placesOf(rules: readonly Rule[], asker: LimitAsker, exchange: Exchange): Place[] {
  return rules.map((rule) => {
    const key = rule.keyOf(exchange)
    return [asker.numberOf(rule), key === null ? null : keptKey(key)]
  })
}

/** Nobody is let pass uncounted. */
async function answerOf(
  exchange: Exchange,
  counting: readonly Rule[],
  asked: Promise<Answer>,
): Promise<NonNullable<Answer>> {
  let answer: Answer = null
  let reason = 'the owner of limits does not know it'
  try {
    answer = await asked
  } catch (error) {
    reason = (error as Error).message
  }
  if (answer !== null) return answer
  for (const { config, decisions } of counting) {
    decisions.failed++
    exchange.trace?.limitFailed(config, reason)
  }
  throw new GatewayError('LIMITS_UNAVAILABLE', 'rate limits cannot be asked')
}

/** Gives the tightest budget so far. */
function tell(
  exchange: Exchange,
  { config, decisions }: Rule,
  [remaining, reset]: Left,
  decision: 'allow' | 'deny',
): Allowance {
  const allowance = { limit: config.most, remaining, reset }
  decisions[decision]++
  exchange.trace?.limit(config, allowance, decision)
  exchange.allowance = tighter(exchange.allowance, allowance)
  return exchange.allowance
}
