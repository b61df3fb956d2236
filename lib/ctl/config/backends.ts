// The backends of a dump as rows.

import { timeText } from '../../trace-view/amounts.ts'
import { cut, each, fields, word } from './dump.ts'
import type { Fields } from './dump.ts'
import { groupsText, modelsText } from './providers.ts'

export interface BackendRow {
  readonly type: string
  readonly name: string
  readonly namespace: string
  readonly endpoint: string
  /** From 0 to 1, of the last requests. Null where the gateway does not tell, or nobody has asked yet. */
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
  const share = health === null ? '-' : `${Math.round(health * 100)}%`
  const latency = latencyMs === null ? '-' : timeText(Math.round(latencyMs * 1000))
  return [type, name, namespace, cut(endpoint), share, word(requests), latency]
}

/** An address, the targets of an MCP backend, or the providers and models of an LLM one. */
function endpointOf(target: unknown): string {
  if (typeof target === 'string') return target
  const { targets, groups, models, virtualModels } = fields(target)
  if (Array.isArray(targets)) return each(targets).map(targetText).join(', ')
  if (Array.isArray(groups)) return groupsText(groups)
  if (Array.isArray(models)) return modelsText(models, virtualModels)
  return addressText(fields(target))
}

function targetText({ name, ...rest }: Fields): string {
  const [[kind, how] = ['', {}]] = Object.entries(rest)
  const { cmd, args } = fields(how)
  if (cmd === undefined) return `${word(name)}=${kind} ${addressText(fields(how))}`
  return `${word(name)}=${kind} ${[cmd, ...(Array.isArray(args) ? args : [])].map(String).join(' ')}`
}

function addressText({ host, port, path, ...rest }: Fields): string {
  if (host === undefined) return Object.keys(rest).length === 0 ? '-' : JSON.stringify(rest)
  return `${word(host)}${port === undefined ? '' : `:${word(port)}`}${word(path, '')}`
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
