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

/** Credentials go to every target, or only to those that ask for them; `authorization`: that header does, cookies do not. */
export type Credentials = 'all' | 'authorization' | 'passthrough'

export function sentFields(head: RequestHead, credentials: Credentials): SentFields {
  const sent: [string, string, 'passthrough'?][] = []
  for (const [name, value] of head.entries()) {
    if (KEPT_BACK.has(name)) continue
    if (KEPT_BACK_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    const isForAll = credentials === 'all' || credentials === name
    if (CREDENTIALS.has(name) && !isForAll) sent.push([name, value, 'passthrough'])
    else sent.push([name, value])
  }
  return sent
}
