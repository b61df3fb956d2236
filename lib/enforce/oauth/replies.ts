// Answers of the OAuth side: JSON for any page to read, since these documents are public.

import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'

/** A `cors` policy of the route has the last word, as it sets these anew for origins it lets in. */
export function jsonReply(status: number, value: unknown, methods = 'GET, OPTIONS'): Reply {
  return openReply(status, JSON.stringify(value), methods, [['content-type', 'application/json']])
}

export function openReply(
  status: number,
  text: string,
  methods: string,
  fields: readonly (readonly [string, string])[],
): Reply {
  return replyOf(status, [...fields, ...sharing(methods)], text)
}

/** RFC 6749 5.2, RFC 7591 3.2.2 */
export function errorReply(status: number, error: string, description: string): Reply {
  return jsonReply(status, { error, error_description: description }, 'GET, POST, OPTIONS')
}

export function preflightReply(methods: string): Reply {
  return replyOf(204, [...sharing(methods), ['access-control-max-age', '86400']])
}

export function methodReply(methods: string): Reply {
  const reply = errorReply(405, 'invalid_request', `method not allowed; must be ${methods}`)
  reply.head.add('allow', methods)
  return reply
}

/** The provider does not answer: not the client's fault, and not ours. */
export function downReply(reason: string): Reply {
  return errorReply(502, 'temporarily_unavailable', `the identity provider is down: ${reason}`)
}

function sharing(methods: string): (readonly [string, string])[] {
  return [
    ['access-control-allow-origin', '*'],
    ['access-control-allow-methods', methods],
    ['access-control-allow-headers', 'authorization, content-type, mcp-protocol-version'],
  ]
}
