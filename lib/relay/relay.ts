// The one door out, for every answer: the policies' last word on the head, then head and body to the client.

import type { Exchange } from '../base/exchange.ts'
import type { Reply } from '../base/types.ts'
import { unbuffer } from './event-stream.ts'

export function relay(exchange: Exchange, reply: Reply): void {
  const { head } = reply
  // Policies may read it there.
  exchange.reply = reply
  for (const policy of exchange.policies) policy.response?.(exchange, head)
  unbuffer(head)
  exchange.phase = 'relay'
  exchange.status = head.status
  exchange.client.respond(exchange, reply)
}
