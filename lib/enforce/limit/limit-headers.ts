// What a client gets that has no budget left; the headers about the budget are added on its way out.

import type { Exchange } from '../../core/exchange.ts'
import type { HeaderFields } from '../../core/head.ts'
import { buildReply } from '../../core/replies.ts'
import type { Allowance, Reply } from '../../core/types.ts'

/** Seconds after which it is worth waiting for; SDKs would otherwise sleep through a whole hour, without a word. */
const LONGEST_WAIT = 60

export function createLimitReply(exchange: Exchange, { reset }: Allowance): Reply {
  exchange.enforcement.refusalReason = 'rate_limit'
  const reply = buildReply(
    429,
    [
      ['content-type', 'text/plain'],
      ['retry-after', String(reset)],
    ],
    'rate limit exceeded',
  )
  if (reset > LONGEST_WAIT) reply.head.add('x-should-retry', 'false')
  return reply
}

// What an answer tells of the tightest limit its request met, whoever counts it.

export function addRateLimitHeaders(
  { enforcement: { allowance } }: Exchange,
  head: HeaderFields,
): void {
  if (allowance === null) return
  head.set('x-ratelimit-limit', String(allowance.limit))
  head.set('x-ratelimit-remaining', String(allowance.remaining))
  head.set('x-ratelimit-reset', String(allowance.reset))
}

// Of several budgets an answer tells of one: the one that ends first.

/** The one with less left; of two the one that stays so for longer. */
export function pickTighterAllowance(met: Allowance | null, other: Allowance): Allowance {
  if (met === null) return other
  if (met.remaining !== other.remaining) return met.remaining < other.remaining ? met : other
  return met.reset >= other.reset ? met : other
}
