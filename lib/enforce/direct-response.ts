// directResponse: a fixed answer; the request's body is not looked at.

import type { DirectResponseConfig } from '../base/config/types.ts'
import { replyOf } from '../base/reply.ts'
import type { Policy } from '../base/types.ts'

export function directResponse({ status, body, headers }: DirectResponseConfig): Policy {
  const bytes = Buffer.from(body)
  // Without a type a browser guesses, and may guess a script.
  const isTyped = bytes.length === 0 || headers.some(([name]) => name === 'content-type')
  const fields = isTyped ? headers : [['content-type', 'text/plain'] as const, ...headers]
  return {
    kind: 'directResponse',
    request() {
      const reply = replyOf(status, [], bytes)
      for (const [name, value] of fields) reply.head.set(name, value)
      return reply
    },
  }
}
