// What a client gets that has no budget left; the headers about the budget are added on its way out.

import type { Exchange } from '../base/exchange.ts'
import { replyOf } from '../base/reply.ts'
import type { Allowance, Reply } from '../base/types.ts'

/** Seconds after which it is worth waiting for; SDKs would otherwise sleep through a whole hour, without a word. */
const LONGEST_WAIT = 60

export function limitReply(exchange: Exchange, { reset }: Allowance): Reply {
  exchange.refusal = 'rate_limit'
  const reply = replyOf(
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
