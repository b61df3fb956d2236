// CEL functions for strings, URIs and networks. Positions count code points, as in CEL, where that costs nothing.

import { BlockList, isIP } from 'node:net'
import type { Environment } from '@marcbachmann/cel-js'
import { CelFault } from './expression-errors.ts'
import { MAX_CEL_TEXT, MAX_URI_LENGTH } from './meter.ts'

const SYNC = { async: false }

const MAPPED = /^::ffff:(?=[\d.]+$)/i

/** A network in CIDR notation; an address of the other family is never in it. */
class Cidr {
  readonly #family: number
  readonly #addresses = new BlockList()

  constructor(text: string) {
    const [, network = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
    const family = isIP(network)
    if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) throw new CelFault('conversion')
    this.#family = family
    this.#addresses.addSubnet(network, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  }

  contains(text: string): boolean {
    const address = text.replace(MAPPED, '')
    const family = isIP(address)
    if (family === 0) throw new CelFault('conversion')
    return family === this.#family && this.#addresses.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
}

/** Registers `cidr("10.0.0.0/8").containsIP(source.address)` and `isIP(text)`. */
export function registerNetwork(environment: Environment): void {
  environment
    .registerType('Cidr', Cidr)
    .registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0, SYNC)
    .registerFunction('cidr(string): Cidr', (text: string) => new Cidr(text), SYNC)
    .registerFunction(
      'Cidr.containsIP(string): bool',
      (cidr: Cidr, address: string) => cidr.contains(address),
      SYNC,
    )
}

/** Registers functions for the query of a URI, or of a path and query: `request.uri.query("page")`. */
export function registerUris(environment: Environment): void {
  environment
    .registerFunction('string.query(string): string', query, SYNC)
    .registerFunction('string.addQuery(string, string): string', addQuery, SYNC)
    .registerFunction('string.setQuery(string, string): string', setQuery, SYNC)
}

interface UriParts {
  readonly path: string
  /** As written. */
  readonly parameters: readonly string[]
  readonly fragment: string
}

function splitUri(uri: string): UriParts {
  if (uri.length > MAX_URI_LENGTH) throw new CelFault('too_large')
  const [, path = '', queryText = '', fragment = ''] =
    /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(uri) ?? []
  return { path, parameters: queryText === '' ? [] : queryText.split('&'), fragment }
}

/** The first parameter of this name. */
function query(uri: string, name: string): string {
  const { parameters } = splitUri(uri)
  const value = new URLSearchParams(parameters.join('&')).get(name)
  if (value === null) throw new CelFault('no_such_key')
  return value
}

function addQuery(uri: string, name: string, value: string): string {
  const { path, parameters, fragment } = splitUri(uri)
  return joinUri(path, [...parameters, encodeParameter(name, value)], fragment)
}

/** Replaces all parameters of this name; the others stay as written. */
function setQuery(uri: string, name: string, value: string): string {
  const { path, parameters, fragment } = splitUri(uri)
  const others = parameters.filter((part) => !new URLSearchParams(part).has(name))
  return joinUri(path, [...others, encodeParameter(name, value)], fragment)
}

function encodeParameter(name: string, value: string): string {
  return String(new URLSearchParams([[name, value]]))
}

function joinUri(path: string, parameters: readonly string[], fragment: string): string {
  const text = `${path}?${parameters.join('&')}${fragment}`
  if (text.length > MAX_URI_LENGTH) throw new CelFault('too_large')
  return text
}

export function registerStrings(environment: Environment): void {
  environment
    .registerFunction('string.charAt(int): string', charAt, SYNC)
    .registerFunction('string.replace(string, string): string', replaceAll, SYNC)
    .registerFunction('string.replace(string, string, int): string', replace, SYNC)
    .registerFunction('string.stripPrefix(string): string', stripPrefix, SYNC)
    .registerFunction('string.stripSuffix(string): string', stripSuffix, SYNC)
    // `guard.ts` replaces their handlers with the compiled pattern.
    .registerFunction('matches(string, string): bool', () => false, SYNC)
    .registerFunction('string.regexReplace(string, string): string', () => '', SYNC)
}

function charAt(text: string, index: bigint): string {
  if (index < 0n || index > text.length) throw new CelFault('index_out_of_bounds')
  return text.charAt(Number(index))
}

function replaceAll(text: string, part: string, by: string): string {
  return replace(text, part, by, -1n)
}

/** Replaces the first `count` occurrences, or all if it is negative. A short text can grow: its size is bounded. */
function replace(text: string, part: string, by: string, count: bigint): string {
  const pieces = text.split(part)
  const occurrences = part === '' ? pieces.length + 1 : pieces.length - 1
  const replacements = count < 0n || count > occurrences ? occurrences : Number(count)
  if (text.length + replacements * (by.length - part.length) > MAX_CEL_TEXT)
    throw new CelFault('too_large')
  if (replacements === occurrences) return text.replaceAll(part, () => by)
  let out = ''
  let from = 0
  for (let i = 0; i < replacements; i++) {
    const at = part === '' ? i : text.indexOf(part, from)
    out += text.slice(from, at) + by
    from = at + part.length
  }
  return out + text.slice(from)
}

function stripPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}

function stripSuffix(text: string, suffix: string): string {
  return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text
}
