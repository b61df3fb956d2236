// The 429 response of a rate limit, and the rate limit headers of every limited response.

import type { Exchange } from '../../core/exchange.ts'
import type { HeaderFields } from '../../core/head.ts'
import { buildReply } from '../../core/replies.ts'
import type { Allowance, Reply } from '../../core/types.ts'

/** Longest reset, in seconds, for which SDKs should wait and retry; without the header they would sleep for an hour. */
const MAX_RETRY_WAIT = 60

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
  if (reset > MAX_RETRY_WAIT) reply.head.add('x-should-retry', 'false')
  return reply
}

/** Adds the headers about the tightest limit that applied to the request. */
export function addRateLimitHeaders(
  { enforcement: { allowance } }: Exchange,
  head: HeaderFields,
): void {
  if (allowance === null) return
  head.set('x-ratelimit-limit', String(allowance.limit))
  head.set('x-ratelimit-remaining', String(allowance.remaining))
  head.set('x-ratelimit-reset', String(allowance.reset))
}

/** Returns the allowance with less remaining; of two equal ones, the one with the later reset. */
export function pickTighterAllowance(current: Allowance | null, other: Allowance): Allowance {
  if (current === null) return other
  if (current.remaining !== other.remaining)
    return current.remaining < other.remaining ? current : other
  return current.reset >= other.reset ? current : other
}
