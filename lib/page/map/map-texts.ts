// Texts of the map: matches, backends and policies, each in a few words.

import type {
  BackendNode,
  PolicyNode,
  RouteNode,
  RouteTraffic,
} from '../../admin/page-api/page-api-types.ts'

/** Parts of one backend. */
const MAX_PARTS = 200

/** A target of an MCP backend; a provider or model of an LLM backend. */
export interface Part {
  readonly name: string
  /** Its type in a word or two. */
  readonly note: string
}

/** Traffic of the last seconds. */
export interface RouteRate {
  /** Requests per second. */
  readonly requests: number
  readonly errors: number
}

const WHOLE = new Intl.NumberFormat('en-US')

/** All digits: `120,331`. */
export function wholeText(count: number): string {
  return WHOLE.format(count)
}

/** `1 route`, `2 routes` */
export function countedText(count: number, one: string, several = `${one}s`): string {
  return `${wholeText(count)} ${count === 1 ? one : several}`
}

/** How many routes are drawn: `11 of 500 routes found, the first 5 drawn` */
export function drawnText(
  graph: { readonly drawn: number; readonly fitting: number; readonly routes: number },
  more: number,
): string {
  const { drawn, fitting, routes } = graph
  const all = countedText(routes, 'route')
  const words = [fitting === routes ? all : `${wholeText(fitting)} of ${all} found`]
  if (drawn < fitting) words.push(`the first ${wholeText(drawn)} drawn`)
  if (more > 0) words.push(`${wholeText(more)} more not listed`)
  return words.join(', ')
}

export function rateText(perSecond: number): string {
  return `${perSecond < 10 ? Number(perSecond.toFixed(1)) : wholeText(Math.round(perSecond))}/s`
}

export const errorShare = ({ requests, errors }: RouteTraffic): number =>
  requests === 0 ? 0 : errors / requests

/** The sum of several routes. */
export function sumOf(routes: readonly RouteTraffic[]): RouteTraffic {
  const sum = { key: '', requests: 0, errors: 0, refused: 0 }
  for (const { requests, errors, refused } of routes) {
    sum.requests += requests
    sum.errors += errors
    sum.refused += refused
  }
  return sum
}

/** Rates from two reads of the counts; null when the gateway restarted in between. */
export function rateBetween(
  before: RouteTraffic,
  now: RouteTraffic,
  time: number,
): RouteRate | null {
  if (time <= 0 || now.requests < before.requests || now.errors < before.errors) return null
  const perSecond = (more: number): number => (more * 1000) / time
  return {
    requests: perSecond(now.requests - before.requests),
    errors: perSecond(now.errors - before.errors),
  }
}

/** The first match, with its host. */
export function matchText({ hostnames, matches }: RouteNode): string {
  const [host] = hostnames
  const [match = 'any request'] = matches
  const more = Math.max(hostnames.length, 1) * Math.max(matches.length, 1) - 1
  const first = host === undefined ? match : `${host} ${match}`
  return more > 0 ? `${first} +${more}` : first
}

const PATH = /^(?:[A-Z]+ )?(\/[^\s,]*?)(\/\*)?$/

/** A CEL expression for requests of this route, from its first path match; empty for any. */
export function expressionOf({ matches }: RouteNode): string {
  const [, path = '', prefix] = PATH.exec(matches[0] ?? '') ?? []
  if (path === '' || path === '/*') return ''
  const text = JSON.stringify(path)
  return prefix === undefined ? `request.path == ${text}` : `request.path.startsWith(${text})`
}

export const KINDS: Readonly<Record<BackendNode['kind'], string>> = {
  host: 'host',
  mcp: 'MCP',
  ai: 'LLM',
  llm: 'models',
}

/** Names for the parts of a backend. */
export const PART_NAMES: Readonly<Record<BackendNode['kind'], string>> = {
  host: 'part',
  mcp: 'target',
  ai: 'provider',
  llm: 'model',
}

/** The kinds, each once with its number: `rateLimit ×2`. */
export function kindsText(policies: readonly PolicyNode[]): string {
  const counts = new Map<string, number>()
  for (const { kind } of policies) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => (count > 1 ? `${kind} ×${count}` : kind)).join(', ')
}

/** Routes of one backend share its connections, so each reports the same ones. */
export function poolOf(uses: readonly { readonly backend: BackendNode }[]): BackendNode['pool'] {
  let most: BackendNode['pool'] = null
  for (const { pool } of uses.map(({ backend }) => backend))
    if (pool !== null && pool.open + pool.waiting >= (most?.open ?? 0) + (most?.waiting ?? 0))
      most = pool
  return most
}

/** One line about a backend; may be empty. */
export function backendNotes(
  uses: readonly { readonly backend: BackendNode; readonly route: RouteNode }[],
): string {
  const notes: string[] = []
  const routes = new Set(uses.map(({ route }) => route.key)).size
  if (routes > 1) notes.push(countedText(routes, 'route'))
  const pool = poolOf(uses)
  if (pool !== null) notes.push(countedText(pool.open, 'connection'))
  if (pool !== null && pool.waiting > 0) notes.push(`${wholeText(pool.waiting)} waiting`)
  const policies = uses[0]?.backend.policies ?? []
  if (policies.length > 0) notes.push(kindsText(policies))
  return notes.join(' · ')
}

/** Read from the shown configuration; an unknown form has no parts. */
export function partsOf({ kind, config }: BackendNode): Part[] {
  if (kind === 'mcp') return listAt(config, 'targets').map(targetPart)
  if (kind === 'ai') return providersIn(config).map(providerPart)
  if (kind === 'llm')
    return [
      ...listAt(config, 'models').map(modelPart),
      ...listAt(config, 'virtualModels').map((model) => ({
        name: textAt(model, 'name'),
        note: 'virtual',
      })),
    ]
  return []
}

function targetPart(target: unknown): Part {
  const name = textAt(target, 'name')
  const kind = ['stdio', 'mcp', 'sse'].find((word) => at(target, word) !== undefined)
  const inner = kind === undefined ? target : at(target, kind)
  const host = textAt(inner, 'host')
  const port = at(inner, 'port')
  const where = typeof port === 'number' && !host.includes(':') ? `${host}:${port}` : host
  const words = [kind ?? textAt(target, 'kind'), textAt(inner, 'cmd') || where]
  return { name, note: words.filter(Boolean).join(' ') }
}

function providersIn(config: unknown): unknown[] {
  const groups = listAt(config, 'groups')
  if (groups.length === 0) return at(config, 'provider') === undefined ? [] : [config]
  return groups
    .flatMap((group) => (Array.isArray(group) ? (group as unknown[]) : listAt(group, 'providers')))
    .slice(0, MAX_PARTS)
}

function providerPart(entry: unknown): Part {
  const provider = at(entry, 'provider')
  const kind = typeof provider === 'string' ? provider : textAt(provider, 'kind') || keyOf(provider)
  const model = textAt(provider, 'model') || textAt(at(provider, kind), 'model')
  return { name: textAt(entry, 'name') || kind, note: [kind, model].filter(Boolean).join(' ') }
}

function modelPart(model: unknown): Part {
  const { note } = providerPart(at(model, 'entry') ?? model)
  return { name: textAt(model, 'name'), note }
}

function keyOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? (Object.keys(value)[0] ?? '') : ''
}

function at(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

function textAt(value: unknown, name: string): string {
  const found = at(value, name)
  return typeof found === 'string' ? found : ''
}

/** Members of the value, or of its only member: a configuration may be nested under the name of its kind. */
function listAt(value: unknown, name: string): unknown[] {
  const found = at(value, name) ?? at(at(value, keyOf(value)), name)
  return Array.isArray(found) ? (found as unknown[]).slice(0, MAX_PARTS) : []
}
