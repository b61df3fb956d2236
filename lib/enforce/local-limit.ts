// rateLimit.local: limits counted in this process. Requests are counted here, before a body is looked at; tokens by
// `token-limits.ts`. Whatever was counted, the answer tells what is left.

import type { Rule } from '../base/limit/rule.ts'
import { tighter } from '../base/limit/tighter.ts'
import type { Policy } from '../base/types.ts'
import { tellAllowance } from './allowance-fields.ts'
import { limitReply } from './local-limit-reply.ts'

/** Needed also where only tokens are limited, for the headers. */
export function localLimit(rules: readonly Rule[]): Policy {
  // A rule that was attached twice is one limit all the same.
  const counting = [...new Set(rules)].filter(({ config }) => config.counts === 'requests')
  return {
    kind: 'localRateLimit',
    request(exchange) {
      if (counting.length === 0) exchange.trace?.skip('it counts tokens, once they are known')
      for (const rule of counting) {
        const now = rule.now()
        const bucket = rule.bucketOf(exchange, now)
        const isTaken = bucket.take(now)
        const allowance = bucket.allowance(now)
        const decision = isTaken ? 'allow' : 'deny'
        rule.decisions[decision]++
        exchange.trace?.limit(rule.config, allowance, decision)
        exchange.allowance = tighter(exchange.allowance, allowance)
        // What earlier rules took stays taken.
        if (!isTaken) return limitReply(exchange, exchange.allowance)
      }
      return undefined
    },
    response: tellAllowance,
  }
}
