// What a match asks of a request beside its path: method, headers and query.

import type { RouteMatch, ValueMatch } from '../base/config/types.ts'
import type { RequestHead } from '../base/wire/head.ts'
import { matches } from './matches.ts'

export type Scheme = 'http' | 'https'

/** Whether everything but the path holds. */
export function conditionsHold(match: RouteMatch, request: RequestHead, scheme: Scheme): boolean {
  if (match.method !== '' && match.method !== request.method) return false
  for (const { name, value } of match.headers)
    if (!holds(value, headerValue(request, name, scheme))) return false
  if (match.query.length === 0) return true
  const { query } = request
  for (const { name, value } of match.query)
    if (!holds(value, queryValue(query, name))) return false
  return true
}

function holds(match: ValueMatch, value: string | undefined): boolean {
  if (value === undefined) return false
  return match.kind === 'exact' ? match.value === value : matches(match.regex, value)
}

function headerValue(request: RequestHead, name: string, scheme: Scheme): string | undefined {
  switch (name) {
    case ':authority':
      return request.authority
    case ':method':
      return request.method
    case ':path':
      return request.target
    case ':scheme':
      return scheme
    default:
      return request.get(name)
  }
}

/** The first value of a parameter, decoded as a form would; without taking the others apart. */
export function queryValue(query: string, name: string): string | undefined {
  for (let from = 0; from < query.length;) {
    let end = query.indexOf('&', from)
    if (end < 0) end = query.length
    const equals = query.indexOf('=', from)
    const nameEnd = equals < 0 || equals > end ? end : equals
    if (decoded(query.substring(from, nameEnd)) === name)
      return decoded(query.substring(Math.min(nameEnd + 1, end), end))
    from = end + 1
  }
  return undefined
}

function decoded(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  // URLSearchParams leaves a broken escape as it is, where decodeURIComponent would throw.
  return new URLSearchParams(`x=${text}`).get('x')!
}
