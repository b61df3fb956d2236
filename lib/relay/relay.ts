// The one door out, for every answer: the policies' last word on the head, then head and body to the client.

import type { Exchange } from '../base/exchange.ts'
import { TappedBody } from '../base/tapped-body.ts'
import type { Trace } from '../base/trace/trace.ts'
import type { Reply } from '../base/types.ts'
import { unbuffer } from './event-stream.ts'

export function relay(exchange: Exchange, reply: Reply): void {
  const { head } = reply
  const { trace } = exchange
  trace?.ready(head)
  // Policies may read it there.
  exchange.reply = reply
  for (const policy of exchange.policies) policy.response?.(exchange, head)
  unbuffer(head)
  exchange.phase = 'relay'
  exchange.status = head.status
  const sent = trace === null ? reply : watched(exchange, reply, trace)
  exchange.client.respond(exchange, sent)
}

function watched(exchange: Exchange, reply: Reply, trace: Trace): Reply {
  trace.response('final response', reply.head)
  const isEmpty = reply.body.framing === 'none'
  if (isEmpty || reply.tunnel !== null) return reply
  const body = new TappedBody(reply.body, trace.body('response'))
  exchange.reply = { ...reply, body }
  return exchange.reply
}
