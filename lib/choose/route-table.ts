// The routes of one listener, found by host, then path, then everything else a match may ask for.

import type { RouteMatch } from '../base/config/types.ts'
import type { RequestHead } from '../base/wire/head.ts'
import { conditionsHold } from './conditions.ts'
import type { Scheme } from './conditions.ts'
import { Hosts } from './hosts.ts'
import { matches } from './matches.ts'

export interface RouteEntry<T> {
  readonly key: string
  readonly hostnames: readonly string[]
  readonly matches: readonly RouteMatch[]
  readonly value: T
}

export interface Found<T> {
  readonly value: T
  /** The path prefix that matched, without a slash at its end; '' for `/`, and for a match of another kind. */
  readonly prefix: string
}

/** One match of one route. */
interface Candidate<T> extends Found<T> {
  readonly key: string
  readonly match: RouteMatch
}

export class RouteTable<T> {
  readonly #hosts = new Hosts<PathTable<T>>()

  constructor(routes: Iterable<RouteEntry<T>>, scheme: Scheme = 'http') {
    for (const route of routes)
      for (const hostname of route.hostnames.length === 0 ? [''] : route.hostnames) {
        let paths = this.#hosts.get(hostname)
        if (paths === undefined) this.#hosts.set(hostname, (paths = new PathTable(scheme)))
        paths.add(route)
      }
  }

  /** The route that fits best; the result is made at construction and shared between requests. */
  find(request: RequestHead): Found<T> | undefined {
    return this.#hosts.search(request.authority, request, lookUp)
  }

  /** Of every route whose hostname fits, whatever else it asks for. */
  keysFor(request: RequestHead): Set<string> {
    const keys = new Set<string>()
    this.#hosts.search(request.authority, request, gather(keys))
    return keys
  }
}

/** Never finds one, so that all are visited. */
function gather(keys: Set<string>) {
  return (paths: PathTable<unknown>): undefined => {
    for (const key of paths.keys) keys.add(key)
  }
}

function lookUp<T>(paths: PathTable<T>, request: RequestHead): Found<T> | undefined {
  return paths.find(request)
}

/** The routes of one hostname. */
class PathTable<T> {
  readonly keys = new Set<string>()
  readonly #scheme: Scheme
  readonly #exact = new Map<string, Candidate<T>[]>()
  readonly #prefixes = new Map<string, Candidate<T>[]>()
  readonly #regexes: Candidate<T>[] = []
  /** Which lengths prefixes have, so that a path with many slashes costs no look-up for each. */
  readonly #lengths = new Set<number>()
  #longest = -1

  constructor(scheme: Scheme) {
    this.#scheme = scheme
  }

  add({ key, matches, value }: RouteEntry<T>): void {
    this.keys.add(key)
    for (const match of matches) {
      const { path } = match
      const prefix = path.kind === 'prefix' ? path.value.replace(/\/+$/, '') : ''
      const candidate = { key, match, value, prefix }
      if (path.kind === 'regex') insert(this.#regexes, candidate)
      else if (path.kind === 'exact') insert(listAt(this.#exact, path.value), candidate)
      else {
        insert(listAt(this.#prefixes, prefix), candidate)
        this.#lengths.add(prefix.length)
        this.#longest = Math.max(this.#longest, prefix.length)
      }
    }
  }

  find(request: RequestHead): Found<T> | undefined {
    const { path } = request
    const exact = this.#exact.get(path)
    return (
      (exact === undefined ? undefined : this.#first(exact, request)) ??
      this.#byPrefix(path, request) ??
      this.#byRegex(path, request)
    )
  }

  /** From the longest prefix that could fit, segment by segment to `/`. */
  #byPrefix(path: string, request: RequestHead): Found<T> | undefined {
    let end = path.length > this.#longest ? path.lastIndexOf('/', this.#longest) : path.length
    for (; end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
      if (!this.#lengths.has(end)) continue
      const candidates = this.#prefixes.get(path.substring(0, end))
      const found = candidates === undefined ? undefined : this.#first(candidates, request)
      if (found !== undefined) return found
    }
    return undefined
  }

  #byRegex(path: string, request: RequestHead): Found<T> | undefined {
    for (const candidate of this.#regexes) {
      const { match } = candidate
      if (match.path.kind === 'regex' && matches(match.path.regex, path))
        if (conditionsHold(match, request, this.#scheme)) return candidate
    }
    return undefined
  }

  #first(candidates: readonly Candidate<T>[], request: RequestHead): Found<T> | undefined {
    for (const candidate of candidates)
      if (conditionsHold(candidate.match, request, this.#scheme)) return candidate
    return undefined
  }
}

function listAt<T>(map: Map<string, T[]>, key: string): T[] {
  let list = map.get(key)
  if (list === undefined) map.set(key, (list = []))
  return list
}

/** Keeps a list in the order of precedence. */
function insert<T>(list: Candidate<T>[], candidate: Candidate<T>): void {
  list.push(candidate)
  list.sort(byPrecedence)
}

/** Longer path, having a method, more headers, more parameters, then the key. */
function byPrecedence(a: Candidate<unknown>, b: Candidate<unknown>): number {
  return (
    b.match.path.value.length - a.match.path.value.length ||
    Number(b.match.method !== '') - Number(a.match.method !== '') ||
    b.match.headers.length - a.match.headers.length ||
    b.match.query.length - a.match.query.length ||
    compare(a.key, b.key)
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
