// The routes of a dump as rows, in the order of the file.

import { backendRows } from './backends.ts'
import { cut, each, fields, word } from './dump.ts'
import type { Fields } from './dump.ts'

export interface RouteRow {
  readonly listener: string
  readonly route: string
  readonly hostnames: readonly string[]
  readonly matches: readonly string[]
  readonly backends: readonly string[]
  readonly policies: readonly string[]
}

export const ROUTE_HEADINGS = ['LISTENER', 'ROUTE', 'HOSTNAMES', 'MATCHES', 'BACKENDS', 'POLICIES']

export function routeRows(dump: Fields): RouteRow[] {
  const endpoints = new Map(backendRows(dump).map(({ name, endpoint }) => [name, endpoint]))
  return each(dump['binds']).flatMap(({ address, listeners }) =>
    each(listeners).flatMap(({ key, routes }) =>
      each(routes).map((route) => ({
        listener: `${word(key)} (${word(address)})`,
        route: word(route['name'] ?? route['key']),
        hostnames: stringsOf(route['hostnames']),
        matches: each(route['matches']).map(matchText),
        backends: backendsOf(route, endpoints),
        policies: kindsOf(route['inlinePolicies']),
      })),
    ),
  )
}

/** One line per match: the others would not fit beside each other. */
export function routeCells(row: RouteRow): string[][] {
  const [first = '-', ...others] = row.matches
  const list = (values: readonly string[], none: string): string => values.join(', ') || none
  return [
    [
      row.listener,
      row.route,
      list(row.hostnames, '*'),
      first,
      cut(list(row.backends, '-')),
      list(row.policies, '-'),
    ],
    ...others.map((match) => ['', '', '', match, '', '']),
  ]
}

function matchText({ path, method, headers, query }: Fields): string {
  const [[kind, value] = ['', '']] = Object.entries(fields(path))
  const shown = kind === 'pathPrefix' ? `${word(value)}*` : word(value)
  const conditions = [...each(headers), ...each(query)].map(conditionText)
  const marked = kind === 'regex' ? `~${shown}` : shown
  return [word(method, ''), marked, ...conditions].filter(Boolean).join(' ')
}

function conditionText({ name, value }: Fields): string {
  const [[kind, text] = ['', '']] = Object.entries(fields(value))
  return `[${word(name)}${kind === 'regex' ? '~' : '='}${word(text)}]`
}

/** The share of each, where there are several. */
function backendsOf(route: Fields, endpoints: ReadonlyMap<string, string>): string[] {
  const backends = each(route['backends'])
  return backends.map(({ backend, weight }) => {
    const name = word(backend)
    const endpoint = endpoints.get(name) ?? name
    return backends.length > 1 ? `${endpoint} (${word(weight)})` : endpoint
  })
}

function kindsOf(policies: unknown): string[] {
  return each(policies).flatMap((policy) => Object.keys(policy))
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}
