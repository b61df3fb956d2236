// The rows of the tables of gwctl proxy config: backends, routes and policies of a configuration dump. The dump may come
// from another version of the gateway, so every field may be missing.

import { timeText } from '../trace-view/amounts.ts'

export type Fields = Readonly<Record<string, unknown>>

interface BackendRow {
  readonly type: string
  readonly name: string
  readonly namespace: string
  readonly endpoint: string
  /** From 0 to 1; null if the gateway does not report it, or no request was sent yet. */
  readonly health: number | null
  readonly requests: number | null
  readonly latencyMs: number | null
}

interface RouteRow {
  readonly listener: string
  readonly route: string
  readonly hostnames: readonly string[]
  readonly matches: readonly string[]
  readonly backends: readonly string[]
  readonly policies: readonly string[]
}

interface PolicyRow {
  readonly kind: string
  /** The listener, route, backend or resource that the policy applies to. */
  readonly at: string
  readonly status: string
  readonly policy: unknown
}

/** For a table cell; `-o json` prints the complete value. */
const MAX_CELL_CHARS = 80

export const BACKEND_HEADINGS = [
  ...['TYPE', 'NAME', 'NAMESPACE', 'ENDPOINT', 'HEALTH', 'REQUESTS', 'LATENCY'],
]
export const ROUTE_HEADINGS = ['LISTENER', 'ROUTE', 'HOSTNAMES', 'MATCHES', 'BACKENDS', 'POLICIES']
export const POLICY_HEADINGS = ['KIND', 'AT', 'STATUS', 'POLICY']

export function backendRows(dump: Fields): BackendRow[] {
  return each(dump['backends']).map(({ backend, health, requests, latencyMs }) => {
    const [[type, facts] = ['', {}]] = Object.entries(fields(backend))
    const { name, namespace, target } = fields(facts)
    return {
      type,
      name: cell(name),
      namespace: cell(namespace),
      endpoint: endpointText(target),
      health: numberOrNull(health),
      requests: numberOrNull(requests),
      latencyMs: numberOrNull(latencyMs),
    }
  })
}

export function backendCells(row: BackendRow): string[] {
  const { type, name, namespace, endpoint, health, requests, latencyMs } = row
  const share = health === null ? '-' : `${Math.round(health * 100)}%`
  const latency = latencyMs === null ? '-' : timeText(Math.round(latencyMs * 1000))
  return [type, name, namespace, truncate(endpoint), share, cell(requests), latency]
}

/** In the order of the configuration file. */
export function routeRows(dump: Fields): RouteRow[] {
  const endpoints = new Map(backendRows(dump).map(({ name, endpoint }) => [name, endpoint]))
  return each(dump['binds']).flatMap(({ address, listeners }) =>
    each(listeners).flatMap(({ key, routes }) =>
      each(routes).map((route) => ({
        listener: `${cell(key)} (${cell(address)})`,
        route: cell(route['name'] ?? route['key']),
        hostnames: Array.isArray(route['hostnames']) ? route['hostnames'].map(String) : [],
        matches: each(route['matches']).map(matchText),
        backends: routeBackends(route, endpoints),
        policies: each(route['inlinePolicies']).flatMap((policy) => Object.keys(policy)),
      })),
    ),
  )
}

/** One line per match, because several do not fit into one cell. */
export function routeCells(row: RouteRow): string[][] {
  const [firstMatch = '-', ...otherMatches] = row.matches
  const list = (values: readonly string[], none: string): string => values.join(', ') || none
  return [
    [
      row.listener,
      row.route,
      list(row.hostnames, '*'),
      firstMatch,
      truncate(list(row.backends, '-')),
      list(row.policies, '-'),
    ],
    ...otherMatches.map((match) => ['', '', '', match, '', '']),
  ]
}

export function policyRows(dump: Fields): PolicyRow[] {
  return [...inlinePolicyRows(dump), ...each(dump['policies']).map(resourceRow)]
}

export function policyCells({ kind, at, status, policy }: PolicyRow): string[] {
  return [kind, at, status, truncate(JSON.stringify(policy))]
}

/** An address, the targets of an MCP backend, or the providers and models of an LLM backend. */
function endpointText(target: unknown): string {
  if (typeof target === 'string') return target
  const { targets, groups, models, virtualModels } = fields(target)
  if (Array.isArray(targets)) return each(targets).map(targetText).join(', ')
  if (Array.isArray(groups)) return groupsText(groups)
  if (Array.isArray(models)) return modelsText(models, virtualModels)
  return addressText(fields(target))
}

function targetText({ name, ...rest }: Fields): string {
  const [[kind, settings] = ['', {}]] = Object.entries(rest)
  const { cmd, args } = fields(settings)
  if (cmd === undefined) return `${cell(name)}=${kind} ${addressText(fields(settings))}`
  return `${cell(name)}=${kind} ${[cmd, ...(Array.isArray(args) ? args : [])].map(String).join(' ')}`
}

function addressText({ host, port, path, ...rest }: Fields): string {
  if (host === undefined) return Object.keys(rest).length === 0 ? '-' : JSON.stringify(rest)
  return `${cell(host)}${port === undefined ? '' : `:${cell(port)}`}${cell(path, '')}`
}

/** `a=openAI gpt-4o, b=anthropic > c=mock`: the group after `>` is used when all providers before it have failed. */
function groupsText(groups: readonly unknown[]): string {
  return groups
    .map((group) =>
      each(group)
        .map((entry) => providerText(entry, providerKind(entry), entry))
        .join(', '),
    )
    .join(' > ')
}

/** `gpt-4o=openAI, fast=mock, smart=gpt-4o > fast`: models with their providers, then virtual models. */
function modelsText(models: readonly unknown[], virtualModels: unknown): string {
  const listed = models.map(fields).map((model) => {
    const entry = fields(model['entry'])
    return providerText(model, cell(entry['name'], providerKind(entry)), entry)
  })
  const virtual = each(virtualModels).map(
    ({ name, routing }) => `${cell(name)}=${routingText(routing)}`,
  )
  return [...listed, ...virtual].join(', ') || '-'
}

/** Includes the model if it replaces the requested one, and the endpoint if it is not the default of the provider. */
function providerText({ name }: Fields, provider: string, entry: Fields): string {
  const { model } = fields(fields(entry['provider'])[providerKind(entry)])
  const parts = [`${cell(name)}=${provider}`, cell(model, ''), cell(entry['endpoint'], '')]
  return parts.filter(Boolean).join(' ')
}

function providerKind({ provider }: Fields): string {
  return Object.keys(fields(provider))[0] ?? '-'
}

/** Failover is `a > b`, weighted is `a (2) | b (1)`, conditional is `a | b`. */
function routingText(routing: unknown): string {
  const [[kind, settings] = ['', {}]] = Object.entries(fields(routing))
  const targets = each(fields(settings)['targets'])
  if (kind === 'weighted')
    return targets.map(({ model, weight }) => `${cell(model)} (${cell(weight)})`).join(' | ')
  if (kind !== 'failover') return targets.map(({ model }) => cell(model)).join(' | ')
  const byPriority = new Map<number, string[]>()
  for (const { model, priority } of targets) {
    const models = byPriority.get(Number(priority)) ?? []
    byPriority.set(Number(priority), [...models, cell(model)])
  }
  const sorted = [...byPriority].toSorted(([a], [b]) => a - b)
  return sorted.map(([, models]) => models.join(' | ')).join(' > ')
}

function matchText({ path, method, headers, query }: Fields): string {
  const [[kind, value] = ['', '']] = Object.entries(fields(path))
  const shown = kind === 'pathPrefix' ? `${cell(value)}*` : cell(value)
  const conditions = [...each(headers), ...each(query)].map(conditionText)
  const marked = kind === 'regex' ? `~${shown}` : shown
  return [cell(method, ''), marked, ...conditions].filter(Boolean).join(' ')
}

function conditionText({ name, value }: Fields): string {
  const [[kind, text] = ['', '']] = Object.entries(fields(value))
  return `[${cell(name)}${kind === 'regex' ? '~' : '='}${cell(text)}]`
}

/** With the weight of each backend if there are several. */
function routeBackends(route: Fields, endpoints: ReadonlyMap<string, string>): string[] {
  const backends = each(route['backends'])
  return backends.map(({ backend, weight }) => {
    const name = cell(backend)
    const endpoint = endpoints.get(name) ?? name
    return backends.length > 1 ? `${endpoint} (${cell(weight)})` : endpoint
  })
}

/** Policies that are part of a bind, a listener, a route or a backend. */
function inlinePolicyRows(dump: Fields): PolicyRow[] {
  const binds = each(dump['binds'])
  const listeners = binds.flatMap((bind) => each(bind['listeners']))
  const routes = listeners.flatMap((listener) => each(listener['routes']))
  const backends = each(dump['backends']).map(({ backend, inlinePolicies }) => {
    const { name } = fields(Object.values(fields(backend))[0])
    return { key: name, inlinePolicies }
  })
  const rowsOf = ({ key, inlinePolicies }: Fields, place: string): PolicyRow[] =>
    each(inlinePolicies)
      .flatMap((policies) => Object.entries(policies))
      .map(([kind, policy]) => ({ kind, at: place + cell(key), status: 'inline', policy }))
  return [
    ...binds.flatMap((bind) => rowsOf(bind, '')),
    ...listeners.flatMap((listener) => rowsOf(listener, 'listener ')),
    ...routes.flatMap((route) => rowsOf(route, 'route ')),
    ...backends.flatMap((backend) => rowsOf(backend, 'backend ')),
  ]
}

/** A policy that is a resource of its own and refers to its targets. */
function resourceRow({ kind, metadata, spec, status }: Fields): PolicyRow {
  const { name, namespace } = fields(metadata)
  const { targetRefs, ...policy } = fields(spec)
  const targets = each(targetRefs).map(
    (target) => `${cell(target['kind'])}/${cell(target['name'])}`,
  )
  return {
    kind: `${cell(kind)} ${cell(namespace, 'default')}/${cell(name)}`,
    at: targets.join(', ') || '-',
    status: conditionsText(status),
    policy,
  }
}

/** `Accepted, not Attached (Pending)` */
function conditionsText(status: unknown): string {
  const conditions = each(fields(status)['ancestors'])
    .flatMap((ancestor) => each(ancestor['conditions']))
    .concat(each(fields(status)['conditions']))
  const texts = conditions.map(({ type, status: state, reason }) =>
    state === 'True' ? cell(type) : `not ${cell(type)} (${cell(reason)})`,
  )
  return [...new Set(texts)].join(', ') || '-'
}

/** The value as an object; empty if it is not an object. */
function fields(value: unknown): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Fields) : {}
}

/** The objects in a list, or the objects that are values of an object. */
function each(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : Object.values(fields(value)).map(fields)
}

function cell(value: unknown, fallback = '-'): string {
  if (typeof value === 'string') return value === '' ? fallback : value
  return value === undefined || value === null ? fallback : JSON.stringify(value)
}

function truncate(text: string): string {
  return text.length > MAX_CELL_CHARS ? `${text.slice(0, MAX_CELL_CHARS - 1)}…` : text
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
