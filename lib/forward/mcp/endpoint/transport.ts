// What an HTTP request must look like to be an MCP one: method, Accept, content type (reference.md 4.1).

import type { RequestHead } from '../../../base/wire/head.ts'
import type { Reply } from '../../../base/types.ts'
import { CODES, refusal } from '../rpc.ts'

const JSON_TYPE = 'application/json'
const EVENT_STREAM = 'text/event-stream'

/** The answer to a request that is none, or null. */
export function postFault(head: RequestHead): Reply | null {
  const accept = acceptOf(head)
  if (!accept.includes(JSON_TYPE) || !accept.includes(EVENT_STREAM))
    return refused(406, `client must accept both ${JSON_TYPE} and ${EVENT_STREAM}`)
  const [type = ''] = (head.get('content-type') ?? '').toLowerCase().split(';')
  if (type.trim() !== JSON_TYPE) return refused(415, `client must send ${JSON_TYPE}`)
  const coding = head.get('content-encoding')
  return coding === undefined || coding === 'identity'
    ? null
    : refused(415, `client must send ${JSON_TYPE} without content-encoding`)
}

/** A header that must mean one thing, sent with two. */
export function repeatedFault(head: RequestHead): Reply | null {
  for (const name of ['mcp-session-id', 'mcp-protocol-version'])
    if (new Set(head.all(name)).size > 1) return refused(400, `${name} is sent with two values`)
  return null
}

export function getFault(head: RequestHead): Reply | null {
  return acceptOf(head).includes(EVENT_STREAM)
    ? null
    : refused(406, `client must accept ${EVENT_STREAM}`)
}

export function methodFault(allowed: readonly [string, ...string[]]): Reply {
  const last = allowed.at(-1)!
  const others = allowed.slice(0, -1).join(', ')
  const list = others === '' ? last : `${others}, or ${last}`
  const reply = refused(405, `method not allowed; must be ${list}`)
  reply.head.add('allow', allowed.join(', '))
  return reply
}

/** Refused before any message was read. */
export function refused(status: number, message: string): Reply {
  return refusal(status, { code: CODES.server, message })
}

function acceptOf(head: RequestHead): string {
  return head.all('accept').join(',').toLowerCase()
}
