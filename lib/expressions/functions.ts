// CEL functions of the gateway: JSON, encodings, digests, maps, numbers, and parts of CEL that the library lacks.

import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '@marcbachmann/cel-js'
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import type { Duration } from '@marcbachmann/cel-js/evaluator'
import { CelFault } from './expression-errors.ts'
import { HeadersMap, joinHeaderLines } from './header-maps.ts'
import type { FieldsView, HeaderShape } from './header-maps.ts'
import { celToJson, parseCelJson } from './json-values.ts'
import { MAX_CEL_TEXT, MAX_LITERAL_ENTRIES } from './meter.ts'
import { registerNetwork, registerStrings, registerUris } from './text-functions.ts'

const SYNC = { async: false }

const MAX_INT = 2n ** 63n - 1n

/** The types of the namespaces, as in `base64.encode(x)`. */
class Base64Namespace {}
class UrlNamespace {}
class Md5Namespace {}
class Sha1Namespace {}
class Sha256Namespace {}

export function registerFunctions(environment: Environment): void {
  registerJson(environment)
  registerEncodings(environment)
  registerDigests(environment)
  registerMissing(environment)
  registerStrings(environment)
  registerUris(environment)
  registerMaps(environment)
  registerNumbers(environment)
  registerNetwork(environment)
}

function registerJson(environment: Environment): void {
  const write = (value: unknown): string => celToJson(value)
  environment
    .registerFunction('json(string): dyn', (text: string) => parseCelJson(text), SYNC)
    .registerFunction(
      'json(bytes): dyn',
      (bytes: Uint8Array) => parseCelJson(decodeUtf8(bytes)),
      SYNC,
    )
    .registerFunction('jsonField(string, string): dyn', readJsonField, SYNC)
    .registerFunction(
      'jsonField(bytes, string): dyn',
      (bytes: Uint8Array, name: string) => readJsonField(decodeUtf8(bytes), name),
      SYNC,
    )
    .registerFunction('toJson(dyn): string', write, SYNC)
    .registerFunction('to_json(dyn): string', write, SYNC)
}

function readJsonField(text: string, name: string): unknown {
  const value = parseCelJson(text)
  if (!(value instanceof Map)) throw new CelFault('no_such_overload')
  if (!value.has(name)) throw new CelFault('no_such_key')
  return value.get(name)
}

function registerEncodings(environment: Environment): void {
  const encode = (value: string | Uint8Array): string => Buffer.from(value).toString('base64')
  const method = (_namespace: unknown, value: string | Uint8Array): string => encode(value)
  environment
    .registerType('Base64Namespace', Base64Namespace)
    .registerConstant('base64', 'Base64Namespace', new Base64Namespace())
    .registerFunction('Base64Namespace.encode(string): string', method, SYNC)
    .registerFunction('Base64Namespace.encode(bytes): string', method, SYNC)
    .registerFunction(
      'Base64Namespace.decode(string): bytes',
      (_, text: string) => decodeBase64(text),
      SYNC,
    )
    .registerFunction('base64Encode(string): string', encode, SYNC)
    .registerFunction('base64Encode(bytes): string', encode, SYNC)
    .registerFunction('base64Decode(string): bytes', decodeBase64, SYNC)
    .registerType('UrlNamespace', UrlNamespace)
    .registerConstant('url', 'UrlNamespace', new UrlNamespace())
    .registerFunction(
      'UrlNamespace.encode(string): string',
      (_, text: string) => escapeUrlText(text),
      SYNC,
    )
    .registerFunction(
      'UrlNamespace.decode(string): string',
      (_, text: string) => decodeURIComponent(text),
      SYNC,
    )
}

/** Both alphabets, padding optional; other characters are refused, because Buffer would skip them. */
function decodeBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw new CelFault('conversion')
  return Buffer.from(text, 'base64')
}

/** Escapes everything but the unreserved characters of RFC 3986. */
function escapeUrlText(text: string): string {
  // One character can become nine.
  if (text.length > MAX_CEL_TEXT / 9) throw new CelFault('too_large')
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function registerDigests(environment: Environment): void {
  for (const [name, Namespace] of [
    ['md5', Md5Namespace],
    ['sha1', Sha1Namespace],
    ['sha256', Sha256Namespace],
  ] as const) {
    const digest = (_namespace: unknown, value: string | Uint8Array): string =>
      createHash(name).update(value).digest('hex')
    const type = Namespace.name
    environment
      .registerType(type, Namespace)
      .registerConstant(name, type, new Namespace())
      .registerFunction(`${type}.encode(string): string`, digest, SYNC)
      .registerFunction(`${type}.encode(bytes): string`, digest, SYNC)
  }
}

/** Parts of CEL that version 8.0.0 of the library lacks. */
function registerMissing(environment: Environment): void {
  const time = 'google.protobuf.Timestamp'
  const span = 'google.protobuf.Duration'
  const compare = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(a, b)
  environment
    .registerFunction(
      'int(uint): int',
      (value: UnsignedInt) => checkInt(BigInt(String(value))),
      SYNC,
    )
    .registerFunction(
      `int(${time}): int`,
      (value: Date) => BigInt(Math.floor(value.getTime() / 1000)),
      SYNC,
    )
    .registerFunction(`string(${time}): string`, formatTimestamp, SYNC)
    .registerFunction(`string(${span}): string`, (value: Duration) => value.toString(), SYNC)
    .registerFunction(`timestamp(${time}): ${time}`, (value: Date) => value, SYNC)
    .registerFunction(`duration(${span}): ${span}`, (value: object) => value, SYNC)
    .registerFunction('list.contains(dyn): bool', contains, SYNC)
    .registerFunction('fail(): dyn', fail, SYNC)
    .registerFunction('fail(string): dyn', fail, SYNC)
    .registerOperator('bytes < bytes', (a: Uint8Array, b: Uint8Array) => compare(a, b) < 0)
    .registerOperator('bytes <= bytes', (a: Uint8Array, b: Uint8Array) => compare(a, b) <= 0)
    .registerOperator('bytes > bytes', (a: Uint8Array, b: Uint8Array) => compare(a, b) > 0)
    .registerOperator('bytes >= bytes', (a: Uint8Array, b: Uint8Array) => compare(a, b) >= 0)
}

/** The text is for readers of the expression only. */
function fail(): never {
  throw new CelFault('failed')
}

function checkInt(value: bigint): bigint {
  if (value > MAX_INT) throw new CelFault('arithmetic')
  return value
}

/** Without milliseconds if they are 0. */
function formatTimestamp(value: Date): string {
  return value.toISOString().replace('.000Z', 'Z')
}

function contains(list: readonly unknown[], searched: unknown): boolean {
  return list.some(
    (item) =>
      item === searched ||
      // An int and a double of the same value are equal in CEL.
      (isNumber(item) && isNumber(searched) && item == searched) ||
      isDeepStrictEqual(item, searched),
  )
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CelFault('conversion')
  }
}

/** A map literal is a plain object. */
type MapLike = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>

function registerMaps(environment: Environment): void {
  environment
    .registerFunction('map.merge(map): map', mergeMaps, SYNC)
    .registerFunction('map.cookie(string): string', cookie, SYNC)
    .registerFunction(
      'map.join(): map',
      (map: MapLike) => reshapeHeaders(map, joinHeaderLines),
      SYNC,
    )
    .registerFunction(
      'map.split(): map',
      (map: MapLike) => reshapeHeaders(map, splitHeaderLines),
      SYNC,
    )
}

/** For a key in both maps, the value of the second. */
function mergeMaps(one: MapLike, other: MapLike): Map<unknown, unknown> {
  const merged = new Map([...entriesOf(one), ...entriesOf(other)])
  if (merged.size > MAX_LITERAL_ENTRIES) throw new CelFault('too_large')
  return merged
}

function entriesOf(map: MapLike): Iterable<[unknown, unknown]> {
  return map instanceof Map ? map.entries() : Object.entries(map)
}

/** The value of a cookie in the header fields; the first if there are several. */
function cookie(map: MapLike, name: string): string {
  const header = map instanceof Map ? (map as ReadonlyMap<unknown, unknown>).get('cookie') : null
  for (const part of typeof header === 'string' ? header.split(';') : []) {
    const at = part.indexOf('=')
    if (at >= 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  throw new CelFault('no_such_key')
}

/** Splits the lines of a field into its elements. */
function splitHeaderLines(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(',').map((part) => part.trim()))
}

function reshapeHeaders(map: MapLike, shape: HeaderShape): FieldsView {
  // Only header fields have several lines.
  if (!(map instanceof HeadersMap)) throw new CelFault('no_such_overload')
  return map.withShape(shape)
}

const MAX_COMPARED = 8

function registerNumbers(environment: Environment): void {
  for (const [name, isBetter] of [
    ['max', (one: Comparable, best: Comparable) => one > best],
    ['min', (one: Comparable, best: Comparable) => one < best],
  ] as const) {
    const pick = (list: readonly unknown[]): unknown => bestOf(list, isBetter)
    environment.registerFunction(`${name}(list): dyn`, pick, SYNC)
    for (let count = 2; count <= MAX_COMPARED; count++) {
      const parameters = Array<string>(count).fill('dyn').join(', ')
      environment.registerFunction(
        `${name}(${parameters}): dyn`,
        (...values: unknown[]) => pick(values.slice(0, count)),
        SYNC,
      )
    }
  }
  environment
    .registerFunction('random(): double', () => Math.random(), SYNC)
    .registerFunction('uuid(): string', () => randomUUID(), SYNC)
}

/** JavaScript compares an int and a double by value. */
type Comparable = bigint | number

function bestOf(
  list: readonly unknown[],
  isBetter: (one: Comparable, best: Comparable) => boolean,
): unknown {
  const [first, ...rest] = list
  if (first === undefined) throw new CelFault('index_out_of_bounds')
  let best: unknown = first
  let bestValue = comparable(first)
  for (const one of rest) {
    const value = comparable(one)
    if (!isBetter(value, bestValue)) continue
    best = one
    bestValue = value
  }
  return best
}

function comparable(value: unknown): Comparable {
  if (value instanceof UnsignedInt) return BigInt(String(value))
  if (typeof value === 'bigint' || typeof value === 'number') return value
  throw new CelFault('no_such_overload')
}
