// The backends of a dump as rows.

import { each, fields, word } from './dump.ts'
import type { Fields } from './dump.ts'

export interface BackendRow {
  readonly type: string
  readonly name: string
  readonly namespace: string
  readonly endpoint: string
  /** A gateway that does not tell has none. */
  readonly health: number | null
  readonly requests: number | null
  readonly latencyMs: number | null
}

export const BACKEND_HEADINGS = [
  ...['TYPE', 'NAME', 'NAMESPACE', 'ENDPOINT', 'HEALTH', 'REQUESTS', 'LATENCY'],
]

export function backendRows(dump: Fields): BackendRow[] {
  return each(dump['backends']).map(({ backend, health, requests, latencyMs }) => {
    const [[type, facts] = ['', {}]] = Object.entries(fields(backend))
    const { name, namespace, target } = fields(facts)
    return {
      type,
      name: word(name),
      namespace: word(namespace),
      endpoint: endpointOf(target),
      health: numberOf(health),
      requests: numberOf(requests),
      latencyMs: numberOf(latencyMs),
    }
  })
}

export function backendCells(row: BackendRow): string[] {
  const { type, name, namespace, endpoint, health, requests, latencyMs } = row
  const latency = latencyMs === null ? '-' : `${latencyMs}ms`
  return [type, name, namespace, endpoint, word(health), word(requests), latency]
}

/** An address, the targets of an MCP backend, or the providers of an LLM one, in the order in which they are tried. */
function endpointOf(target: unknown): string {
  if (typeof target === 'string') return target
  const { targets, groups } = fields(target)
  if (Array.isArray(targets)) return each(targets).map(targetText).join(', ')
  if (Array.isArray(groups))
    return groups.map((group) => each(group).map(providerText).join(', ')).join(' > ')
  return addressText(fields(target))
}

function targetText({ name, ...rest }: Fields): string {
  const [[kind, how] = ['', {}]] = Object.entries(rest)
  const { cmd, args } = fields(how)
  if (cmd === undefined) return `${word(name)}=${kind} ${addressText(fields(how))}`
  return `${word(name)}=${kind} ${[cmd, ...(Array.isArray(args) ? args : [])].map(String).join(' ')}`
}

function providerText({ name, provider, endpoint }: Fields): string {
  const [kind = ''] = Object.keys(fields(provider))
  return `${word(name)}=${kind}${endpoint === undefined ? '' : ` ${word(endpoint)}`}`
}

function addressText({ host, port, path, ...rest }: Fields): string {
  if (host === undefined) return Object.keys(rest).length === 0 ? '-' : JSON.stringify(rest)
  return `${word(host)}${port === undefined ? '' : `:${word(port)}`}${word(path, '')}`
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
