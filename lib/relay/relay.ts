// Sends every response to the client: response policies run on the head, then head and body are written.

import type { Exchange } from '../core/exchange.ts'
import type { ResponseHead } from '../core/head.ts'
import type { Trace } from '../core/trace-events.ts'
import type { Policy, Reply } from '../core/types.ts'
import { redactReply } from '../http/redacted-body.ts'
import { TappedBody } from '../http/tapped-body.ts'
import { isEventStream } from '../text/sse-reader.ts'

export function relay(exchange: Exchange, received: Reply): void {
  const { head } = received
  const { addedSecrets } = exchange
  const isRedacted = addedSecrets.length > 0 && head.status >= 400
  const reply = isRedacted ? redactReply(received, addedSecrets) : received
  const { trace } = exchange
  trace?.recordReplyReady(head)
  // Response policies may read it.
  exchange.response.reply = reply
  if (trace === null) for (const policy of exchange.policies) policy.response?.(exchange, head)
  else for (const policy of exchange.policies) applyResponsePolicy(exchange, policy, trace)
  exchange.response.isEventStream = disableProxyBuffering(head)
  exchange.phase = 'relay'
  exchange.response.status = head.status
  const sent = trace === null ? reply : tapReplyBody(exchange, reply, trace)
  exchange.client.respond(exchange, sent)
}

/** Discards a reply that could not be sent, so that an error reply can take its place. */
export function dropReply(exchange: Exchange, reply: Reply): void {
  exchange.response.reply = null
  reply.body.cancel()
}

/** Runs one response policy of a traced exchange and records whether it changed the head. */
function applyResponsePolicy(exchange: Exchange, policy: Policy, trace: Trace): void {
  const head = exchange.response.reply?.head
  if (policy.response === undefined || head === undefined) return
  const { kind } = policy
  const before = head.fieldsText()
  policy.response(exchange, head)
  if (head.fieldsText() !== before)
    trace.recordResponsePolicy(kind, {
      type: 'apply',
      details: 'changed the response',
      snapshot: null,
    })
  else if (policy.request === undefined)
    trace.recordResponsePolicy(kind, { type: 'skip', reason: 'no change to the response' })
}

function tapReplyBody(exchange: Exchange, reply: Reply, trace: Trace): Reply {
  trace.snapshotResponse('final response', reply.head)
  const isEmpty = reply.body.framing === 'none'
  if (isEmpty || reply.tunnel !== null) return reply
  const body = new TappedBody(reply.body, trace.tapResponseBody())
  exchange.response.reply = { ...reply, body }
  return exchange.response.reply
}

/** Tells proxies in front of the gateway not to buffer an event stream; returns whether the response is one. */
function disableProxyBuffering(head: ResponseHead): boolean {
  if (!isEventStream(head.get('content-type'))) return false
  if (!head.has('x-accel-buffering')) head.add('x-accel-buffering', 'no')
  if (!head.has('cache-control')) head.add('cache-control', 'no-cache')
  return true
}
