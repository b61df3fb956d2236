// The one door out, for every answer: the policies' last word on the head, then head and body to the client.

import type { Exchange } from '../base/exchange.ts'
import { TappedBody } from '../base/tapped-body.ts'
import type { Trace } from '../base/trace/events.ts'
import type { Policy, Reply } from '../base/types.ts'
import { unbuffer } from './event-stream.ts'

export function relay(exchange: Exchange, reply: Reply): void {
  const { head } = reply
  const { trace } = exchange
  trace?.ready(head)
  // Policies may read it there.
  exchange.reply = reply
  if (trace === null) for (const policy of exchange.policies) policy.response?.(exchange, head)
  else for (const policy of exchange.policies) dress(exchange, policy, trace)
  exchange.isStream = unbuffer(head)
  exchange.phase = 'relay'
  exchange.status = head.status
  const sent = trace === null ? reply : watched(exchange, reply, trace)
  exchange.client.respond(exchange, sent)
}

/** A policy's word on an answer that somebody watches. */
function dress(exchange: Exchange, policy: Policy, trace: Trace): void {
  const head = exchange.reply?.head
  if (policy.response === undefined || head === undefined) return
  const { kind } = policy
  const before = head.fieldsText()
  policy.response(exchange, head)
  if (head.fieldsText() !== before)
    trace.answering(kind, { type: 'apply', details: 'changed the answer', snapshot: null })
  else if (policy.request === undefined)
    trace.answering(kind, { type: 'skip', reason: 'nothing to change on the answer' })
}

function watched(exchange: Exchange, reply: Reply, trace: Trace): Reply {
  trace.response('final response', reply.head)
  const isEmpty = reply.body.framing === 'none'
  if (isEmpty || reply.tunnel !== null) return reply
  const body = new TappedBody(reply.body, trace.body())
  exchange.reply = { ...reply, body }
  return exchange.reply
}
