// What a client gets that has no budget left; the headers about the budget are added on its way out.

import { replyOf } from '../base/reply.ts'
import type { Allowance, Reply } from '../base/types.ts'

export function limitReply({ reset }: Allowance): Reply {
  return replyOf(
    429,
    [
      ['content-type', 'text/plain'],
      ['retry-after', String(reset)],
    ],
    'rate limit exceeded',
  )
}
