// Selects the client headers that a remote target gets: those about the client, not those about its message.

import { computeHeaders } from '../../../expressions/computed-headers.ts'
import { ExpressionView } from '../../../expressions/exchange-view.ts'
import type { McpTarget } from '../../../config/backend-types.ts'
import type { Exchange } from '../../../core/exchange.ts'
import type { RequestHead } from '../../../core/head.ts'
import type { ForwardedHeadersFor, ForwardedHeaders } from '../target-link.ts'
import type { HeaderModifierConfig } from '../../../expressions/computed-headers.ts'

/** Headers about the client's connection, its message or its target URL. */
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

/** `mcp-`: the gateway has its own session and version with each target, and item names may differ. */
const WITHHELD_HEADER_PREFIXES = ['accept', 'access-control-', 'content-', 'if-', 'mcp-', 'sec-']

/** Whether a client credential goes to every target, only to those with auth `passthrough`, or to none. */
type CredentialReach = 'all' | 'passthrough' | 'none'

/** Forwarding per credential header. */
export interface CredentialForwarding {
  readonly authorization: CredentialReach
  readonly cookie: CredentialReach
}

export function selectForwardedHeaders(
  head: RequestHead,
  credentials: CredentialForwarding,
): ForwardedHeaders {
  const forwarded: [string, string, 'passthrough'?][] = []
  for (const [name, value] of head.entries()) {
    if (WITHHELD_HEADERS.has(name)) continue
    if (WITHHELD_HEADER_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    const reach = name === 'authorization' || name === 'cookie' ? credentials[name] : 'all'
    if (reach === 'all') forwarded.push([name, value])
    else if (reach === 'passthrough') forwarded.push([name, value, reach])
  }
  return forwarded
}

/** Applies the transformations of each target at once, because links need the headers long after the request. */
export function transformForwardedHeaders(
  fields: ForwardedHeaders,
  targets: readonly McpTarget[],
  exchange: Exchange,
): ForwardedHeadersFor {
  const transformed = new Map<string, ForwardedHeaders>()
  for (const target of targets) {
    const config = target.kind === 'stdio' ? null : target.transformations?.request
    if (config == null) continue
    const view = new ExpressionView(exchange, exchange.facts ?? undefined)
    transformed.set(target.name, applyHeaderModifier(fields, computeHeaders(config, view)))
  }
  return (name) => transformed.get(name) ?? fields
}

function applyHeaderModifier(
  fields: ForwardedHeaders,
  { add, set, remove }: HeaderModifierConfig,
): ForwardedHeaders {
  const removed = new Set([...remove, ...set.map(([name]) => name)])
  return [...fields.filter(([name]) => !removed.has(name)), ...set, ...add]
}
