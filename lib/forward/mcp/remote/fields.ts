// Which of a client's headers a remote target gets to see: those about the client, not those about its message.

import type { RequestHead } from '../../../base/wire/head.ts'
import type { SentFields } from '../types.ts'

/** They speak of the client's connection, of its message as it wrote it, or of where it wrote it. */
const KEPT_BACK = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'last-event-id',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'referer',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** `mcp-`: session and version are the gateway's own with each target, and names may differ there. */
const KEPT_BACK_PREFIXES = ['accept', 'access-control-', 'content-', 'if-', 'mcp-', 'sec-']

const CREDENTIALS = new Set(['authorization', 'cookie'])

/** `drop` the client's credentials unless they are meant for the target, too. */
export function sentFields(head: RequestHead, credentials: 'keep' | 'drop'): SentFields {
  const sent: [string, string][] = []
  for (const field of head.entries()) {
    const [name] = field
    if (KEPT_BACK.has(name) || (credentials === 'drop' && CREDENTIALS.has(name))) continue
    if (!KEPT_BACK_PREFIXES.some((prefix) => name.startsWith(prefix))) sent.push(field)
  }
  return sent
}
