// Which of a client's headers a remote target gets to see: those about the client, not those about its message.

import { computedHeaders } from '../../../base/cel/computed-headers.ts'
import { View } from '../../../base/cel/view.ts'
import type { McpTarget } from '../../../base/config/mcp-types.ts'
import type { Exchange } from '../../../base/exchange.ts'
import type { RequestHead } from '../../../base/wire/head.ts'
import type { FieldsFor, SentFields } from '../types.ts'
import type { HeaderModifierConfig } from '../../../base/cel/computed-headers.ts'

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

/** Whether a credential of the client's goes to every target, only to those that ask for it, or to none. */
type Reach = 'all' | 'passthrough' | 'none'

/** By header. */
export interface Credentials {
  readonly authorization: Reach
  readonly cookie: Reach
}

export function sentFields(head: RequestHead, credentials: Credentials): SentFields {
  const sent: [string, string, 'passthrough'?][] = []
  for (const [name, value] of head.entries()) {
    if (KEPT_BACK.has(name)) continue
    if (KEPT_BACK_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    const reach = name === 'authorization' || name === 'cookie' ? credentials[name] : 'all'
    if (reach === 'all') sent.push([name, value])
    else if (reach === 'passthrough') sent.push([name, value, reach])
  }
  return sent
}

/** With what transformations of targets make of them: computed now, for links need them long after the request. */
export function transformed(
  fields: SentFields,
  targets: readonly McpTarget[],
  exchange: Exchange,
): FieldsFor {
  const own = new Map<string, SentFields>()
  for (const target of targets) {
    const config = target.kind === 'stdio' ? null : target.transformations?.request
    if (config == null) continue
    const view = new View(exchange, exchange.facts ?? undefined)
    own.set(target.name, modified(fields, computedHeaders(config, view)))
  }
  return (name) => own.get(name) ?? fields
}

function modified(fields: SentFields, { add, set, remove }: HeaderModifierConfig): SentFields {
  const gone = new Set([...remove, ...set.map(([name]) => name)])
  return [...fields.filter(([name]) => !gone.has(name)), ...set, ...add]
}
