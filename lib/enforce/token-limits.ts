// Limits of LLM tokens counted in this process: an estimate is taken at admission, so that requests at the same time
// cannot all slip past, and settled when the real counts are known.

import type { Bucket } from '../base/limit/bucket.ts'
import type { Clock, Rule } from '../base/limit/rule.ts'
import { tighter } from '../base/limit/tighter.ts'
import { TokenCharge } from '../base/limit/token-charge.ts'
import type { Charge, Meter } from '../base/types.ts'
import { limitReply } from './local-limit-reply.ts'

export function tokenLimits(rules: readonly Rule[]): Meter {
  const counting = [...new Set(rules)].filter(({ config }) => config.counts === 'tokens')
  return {
    admit(exchange, estimate) {
      const met: [Rule, Bucket][] = []
      let isOpen = true
      for (const rule of counting) {
        const now = rule.now()
        const bucket = rule.bucketOf(exchange, now)
        met.push([rule, bucket])
        if (!bucket.isOpen(now)) isOpen = false
      }
      // All are asked before any is charged: a request that is refused owes nothing.
      const charges: Charge[] = []
      let { allowance } = exchange
      const decision = isOpen ? 'allow' : 'deny'
      for (const [{ now, config, decisions }, bucket] of met) {
        if (isOpen) charges.push(chargeOf(bucket, now, estimate))
        const left = bucket.allowance(now())
        decisions[decision]++
        exchange.trace?.limit(config, left, decision)
        allowance = tighter(allowance, left)
      }
      exchange.allowance = allowance
      if (allowance !== null && !isOpen) return limitReply(exchange, allowance)
      if (charges.length > 0) exchange.charges = [...exchange.charges, ...charges]
      return undefined
    },
  }
}

function chargeOf(bucket: Bucket, now: Clock, estimate: number): Charge {
  const charge = new TokenCharge(bucket, now)
  charge.raise(estimate)
  return charge
}
