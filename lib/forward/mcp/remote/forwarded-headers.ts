// Which of a client's headers a remote target gets to see: those about the client, not those about its message.

import { computeHeaders } from '../../../expressions/computed-headers.ts'
import { ExpressionView } from '../../../expressions/exchange-view.ts'
import type { McpTarget } from '../../../config/backend-types.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { RequestHead } from '../../../core/head.ts'
import type { ForwardedHeadersFor, ForwardedHeaders } from '../target-link.ts'
import type { HeaderModifierConfig } from '../../../expressions/computed-headers.ts'

/** They speak of the client's connection, of its message as it wrote it, or of where it wrote it. */
const WITHHELD_HEADERS = new Set([
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
const WITHHELD_HEADER_PREFIXES = ['accept', 'access-control-', 'content-', 'if-', 'mcp-', 'sec-']

/** Whether a credential of the client's goes to every target, only to those that ask for it, or to none. */
type CredentialReach = 'all' | 'passthrough' | 'none'

/** By header. */
export interface CredentialForwarding {
  readonly authorization: CredentialReach
  readonly cookie: CredentialReach
}

export function selectForwardedHeaders(
  head: RequestHead,
  credentials: CredentialForwarding,
): ForwardedHeaders {
  const sent: [string, string, 'passthrough'?][] = []
  for (const [name, value] of head.entries()) {
    if (WITHHELD_HEADERS.has(name)) continue
    if (WITHHELD_HEADER_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    const reach = name === 'authorization' || name === 'cookie' ? credentials[name] : 'all'
    if (reach === 'all') sent.push([name, value])
    else if (reach === 'passthrough') sent.push([name, value, reach])
  }
  return sent
}

/** With what transformations of targets make of them: computed now, for links need them long after the request. */
export function transformForwardedHeaders(
  fields: ForwardedHeaders,
  targets: readonly McpTarget[],
  exchange: Exchange,
): ForwardedHeadersFor {
  const own = new Map<string, ForwardedHeaders>()
  for (const target of targets) {
    const config = target.kind === 'stdio' ? null : target.transformations?.request
    if (config == null) continue
    const view = new ExpressionView(exchange, exchange.facts ?? undefined)
    own.set(target.name, applyHeaderModifier(fields, computeHeaders(config, view)))
  }
  return (name) => own.get(name) ?? fields
}

function applyHeaderModifier(
  fields: ForwardedHeaders,
  { add, set, remove }: HeaderModifierConfig,
): ForwardedHeaders {
  const gone = new Set([...remove, ...set.map(([name]) => name)])
  return [...fields.filter(([name]) => !gone.has(name)), ...set, ...add]
}
