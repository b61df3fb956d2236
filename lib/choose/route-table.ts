// Route selection: the routes of one listener, matched by host, then path, then method, headers and query. Also the
// weighted random choice between the backends of a route.

import type { NamedMatch, RouteMatch, ValueMatch } from '../config/config-types.ts'
import { normalizeAuthority } from '../core/addresses.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestHead } from '../core/head.ts'
import { MAX_REGEX_SUBJECT } from '../expressions/regex.ts'
import type { Regex } from '../expressions/regex.ts'
import { HostTable } from './host-table.ts'

export interface RouteEntry<T> {
  readonly key: string
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  readonly value: T
}

export interface FoundRoute<T> {
  readonly value: T
  /** The path prefix that matched, without its trailing slash; '' for `/` and for exact and regex matches. */
  readonly prefix: string
}

type UrlScheme = 'http' | 'https'

/** One match of one route. */
interface RouteCandidate<T> extends FoundRoute<T> {
  readonly key: string
  readonly match: RouteMatch
}

export class RouteTable<T> {
  readonly #hosts = new HostTable<PathTable<T>>()

  constructor(routes: Iterable<RouteEntry<T>>, scheme: UrlScheme = 'http') {
    for (const route of routes)
      for (const hostname of route.hostnames.length === 0 ? [''] : route.hostnames) {
        let paths = this.#hosts.get(hostname)
        if (paths === undefined) this.#hosts.set(hostname, (paths = new PathTable(scheme)))
        paths.add(route)
      }
  }

  /** Returns the best match. The object is created at construction and shared between requests. */
  find(request: RequestHead): FoundRoute<T> | undefined {
    return this.#hosts.search(request.authority, request, findInPaths)
  }

  /** Returns the keys of all routes whose hostname matches, without a check of their other conditions. */
  keysFor(request: RequestHead): Set<string> {
    const keys = new Set<string>()
    // Returns undefined for each table, so that the search visits all of them.
    this.#hosts.search(request.authority, request, (paths): undefined => {
      for (const key of paths.keys) keys.add(key)
    })
    return keys
  }
}

function findInPaths<T>(paths: PathTable<T>, request: RequestHead): FoundRoute<T> | undefined {
  return paths.find(request)
}

/** The routes of one hostname. */
class PathTable<T> {
  readonly keys = new Set<string>()
  readonly #scheme: UrlScheme
  readonly #exact = new Map<string, RouteCandidate<T>[]>()
  readonly #prefixes = new Map<string, RouteCandidate<T>[]>()
  readonly #regexes: RouteCandidate<T>[] = []
  /** The lengths of all prefixes, so that a path with many slashes does not cost one lookup per slash. */
  readonly #prefixLengths = new Set<number>()
  #longestPrefix = -1

  constructor(scheme: UrlScheme) {
    this.#scheme = scheme
  }

  add({ key, matches, value }: RouteEntry<T>): void {
    this.keys.add(key)
    for (const match of matches) {
      const { path } = match
      const prefix = path.kind === 'prefix' ? path.value.replace(/\/+$/, '') : ''
      const candidate = { key, match: normalizeHostConditions(match, this.#scheme), value, prefix }
      if (path.kind === 'regex') insert(this.#regexes, candidate)
      else if (path.kind === 'exact') insert(listInMap(this.#exact, path.value), candidate)
      else {
        insert(listInMap(this.#prefixes, prefix), candidate)
        this.#prefixLengths.add(prefix.length)
        this.#longestPrefix = Math.max(this.#longestPrefix, prefix.length)
      }
    }
  }

  find(request: RequestHead): FoundRoute<T> | undefined {
    const { path } = request
    const exact = this.#exact.get(path)
    return (
      (exact === undefined ? undefined : this.#findFirst(exact, request)) ??
      this.#findByPrefix(path, request) ??
      this.#findByRegex(path, request)
    )
  }

  /** Tries the longest possible prefix first, then removes one segment at a time down to `/`. */
  #findByPrefix(path: string, request: RequestHead): FoundRoute<T> | undefined {
    let end =
      path.length > this.#longestPrefix ? path.lastIndexOf('/', this.#longestPrefix) : path.length
    for (; end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
      if (!this.#prefixLengths.has(end)) continue
      const candidates = this.#prefixes.get(path.substring(0, end))
      const found = candidates === undefined ? undefined : this.#findFirst(candidates, request)
      if (found !== undefined) return found
    }
    return undefined
  }

  #findByRegex(path: string, request: RequestHead): FoundRoute<T> | undefined {
    for (const candidate of this.#regexes) {
      const { match } = candidate
      if (match.path.kind === 'regex' && matchesRegex(match.path.regex, path))
        if (matchesConditions(match, request, this.#scheme)) return candidate
    }
    return undefined
  }

  #findFirst(
    candidates: readonly RouteCandidate<T>[],
    request: RequestHead,
  ): FoundRoute<T> | undefined {
    for (const candidate of candidates)
      if (matchesConditions(candidate.match, request, this.#scheme)) return candidate
    return undefined
  }
}

function listInMap<T>(map: Map<string, T[]>, key: string): T[] {
  let list = map.get(key)
  if (list === undefined) map.set(key, (list = []))
  return list
}

/** Inserts a candidate and keeps the list sorted by precedence. */
function insert<T>(list: RouteCandidate<T>[], candidate: RouteCandidate<T>): void {
  list.push(candidate)
  list.sort(compareByPrecedence)
}

/** Precedence: longer path, then a method condition, more headers, more query parameters, and last the key. */
function compareByPrecedence(a: RouteCandidate<unknown>, b: RouteCandidate<unknown>): number {
  return (
    b.match.path.value.length - a.match.path.value.length ||
    Number(b.match.method !== '') - Number(a.match.method !== '') ||
    b.match.headers.length - a.match.headers.length ||
    b.match.query.length - a.match.query.length ||
    compareTexts(a.key, b.key)
  )
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Gives exact conditions on the host the form of `request.authority`, with which they are compared. */
function normalizeHostConditions(match: RouteMatch, scheme: UrlScheme): RouteMatch {
  const headers = match.headers.map(({ name, value }): NamedMatch => {
    if ((name !== ':authority' && name !== 'host') || value.kind !== 'exact') return { name, value }
    return { name, value: { ...value, value: normalizeAuthority(value.value, scheme === 'https') } }
  })
  return { ...match, headers }
}

/** Returns whether method, headers and query match; the path is checked by the caller. */
function matchesConditions(match: RouteMatch, request: RequestHead, scheme: UrlScheme): boolean {
  if (match.method !== '' && match.method !== request.method) return false
  for (const { name, value } of match.headers)
    if (!matchesValue(value, findHeaderValue(request, name, scheme))) return false
  if (match.query.length === 0) return true
  const { query } = request
  for (const { name, value } of match.query)
    if (!matchesValue(value, findQueryValue(query, name))) return false
  return true
}

function matchesValue(match: ValueMatch, value: string | undefined): boolean {
  if (value === undefined) return false
  return match.kind === 'exact' ? match.value === value : matchesRegex(match.regex, value)
}

function findHeaderValue(
  request: RequestHead,
  name: string,
  scheme: UrlScheme,
): string | undefined {
  switch (name) {
    case ':authority':
    case 'host':
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

/** Returns the first value of a query parameter, form-decoded, without decoding the values of the others. */
export function findQueryValue(query: string, name: string): string | undefined {
  for (let from = 0; from < query.length;) {
    let end = query.indexOf('&', from)
    if (end < 0) end = query.length
    const equals = query.indexOf('=', from)
    const nameEnd = equals < 0 || equals > end ? end : equals
    if (decodeQueryText(query.substring(from, nameEnd)) === name)
      return decodeQueryText(query.substring(Math.min(nameEnd + 1, end), end))
    from = end + 1
  }
  return undefined
}

function decodeQueryText(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  // URLSearchParams keeps a malformed escape unchanged, where decodeURIComponent would throw.
  return new URLSearchParams(`x=${text}`).get('x')!
}

/**
 * Tests a configured regex on text from the client. Text over the bound is an error: reporting "no match" would let the
 * request bypass this route's policies and reach another route.
 */
function matchesRegex(regex: Regex, text: string): boolean {
  if (text.length <= MAX_REGEX_SUBJECT) return regex.test(text)
  throw new GatewayError(
    'HEAD_TOO_LARGE',
    `request head too large: more than ${MAX_REGEX_SUBJECT} characters where a route matches by regex`,
  )
}

export interface WeightedEntry<T> {
  readonly value: T
  /** An integer; an entry with weight 0 is never chosen. */
  readonly weight: number
}

/** Chooses entries at random, with a probability proportional to their weight. */
export class WeightedPicker<T> {
  readonly #values: T[] = []
  /** For each entry: the sum of its weight and all weights before it. */
  readonly #sums: number[] = []
  readonly #random: () => number
  #total = 0

  constructor(entries: Iterable<WeightedEntry<T>>, random: () => number = Math.random) {
    this.#random = random
    for (const { value, weight } of entries) {
      if (weight === 0) continue
      this.#total += weight
      this.#values.push(value)
      this.#sums.push(this.#total)
    }
  }

  /** Returns undefined when all weights are 0. */
  pick(): T | undefined {
    const values = this.#values
    if (values.length < 2) return values[0]
    const at = this.#random() * this.#total
    for (let i = 0; i < values.length; i++) if (at < this.#sums[i]!) return values[i]
    return values[values.length - 1]
  }
}
