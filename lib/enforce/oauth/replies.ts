// Answers of the OAuth side: JSON for any page to read, since these documents are public.

import type { Exchange } from '../../base/exchange.ts'
import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'

export function jsonReply(status: number, value: unknown): Reply {
  return replyOf(status, [['content-type', 'application/json']], JSON.stringify(value))
}

/** RFC 6749 5.2, RFC 7591 3.2.2 */
export function errorReply(status: number, error: string, description: string): Reply {
  return jsonReply(status, { error, error_description: description })
}

export function methodReply(methods: string): Reply {
  const reply = errorReply(405, 'invalid_request', `method not allowed; must be ${methods}`)
  reply.head.add('allow', methods)
  return reply
}

/** The provider does not answer, or not as it should: not the client's fault, and not ours. */
export function downReply(reason: string): Reply {
  return errorReply(502, 'temporarily_unavailable', `the identity provider is down: ${reason}`)
}

/** It answers, but not with what a client could use. */
export function unusableReply(reason: string): Reply {
  const description = `the identity provider's metadata cannot be used: ${reason}`
  return errorReply(502, 'temporarily_unavailable', description)
}

/** Lets every page read the answer, unless a `cors` policy says who may. */
export function shared(exchange: Exchange, reply: Reply, methods: string): Reply {
  if (exchange.policies.some(({ kind }) => kind === 'cors')) return reply
  const { head } = reply
  head.add('access-control-allow-origin', '*')
  head.add('access-control-allow-methods', `${methods}, OPTIONS`)
  head.add('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version')
  return reply
}
