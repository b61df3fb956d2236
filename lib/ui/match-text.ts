// A condition of a route in one line, as people say it: `GET /v1/*`.

import type { Showing } from '../base/config/show.ts'
import type { NamedMatch, PathMatch, RouteMatch } from '../base/config/types.ts'

export function matchText({ path, method, headers, query }: RouteMatch, showing: Showing): string {
  const named = (what: string, all: readonly NamedMatch[]): string[] =>
    all.map((one) => `${what} ${one.name} ${valueText(one, what, showing)}`)
  const words = [method, pathText(path)].filter((word) => word !== '').join(' ')
  return [words, ...named('header', headers), ...named('query', query)].join(', ')
}

function pathText({ kind, value }: PathMatch): string {
  if (kind === 'prefix') return `${value.replace(/\/$/, '')}/*`
  return kind === 'regex' ? `~ ${value}` : value
}

/** The value of some is a secret. */
function valueText(match: NamedMatch, what: string, showing: Showing): string {
  const sign = match.value.kind === 'regex' ? '~' : '='
  const shown = showing.show(match, what) as { readonly value: Readonly<Record<string, unknown>> }
  return `${sign} ${String(shown.value[match.value.kind])}`
}
