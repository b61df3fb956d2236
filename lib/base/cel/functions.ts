// Functions beyond the language's own: JSON, encodings, digests, and what the library lacks.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '@marcbachmann/cel-js'
import type { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { MAX_TEXT } from './bounds.ts'
import { CelFault } from './errors.ts'
import { readJson, toJson } from './json.ts'
import { registerMaps } from './maps.ts'
import { registerNetwork } from './network.ts'
import { registerNumbers } from './numbers.ts'
import { registerStrings } from './strings.ts'
import { registerUris } from './uris.ts'

const SYNC = { async: false }
const MAX_INT = 2n ** 63n - 1n

/** What stands before the dot in `base64.encode(x)`. */
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
  const write = (value: unknown): string => toJson(value)
  environment
    .registerFunction('json(string): dyn', (text: string) => readJson(text), SYNC)
    .registerFunction('json(bytes): dyn', (bytes: Uint8Array) => readJson(textOf(bytes)), SYNC)
    .registerFunction('jsonField(string, string): dyn', fieldOf, SYNC)
    .registerFunction(
      'jsonField(bytes, string): dyn',
      (bytes: Uint8Array, name: string) => fieldOf(textOf(bytes), name),
      SYNC,
    )
    .registerFunction('toJson(dyn): string', write, SYNC)
    .registerFunction('to_json(dyn): string', write, SYNC)
}

/** Of a JSON object in a text. */
function fieldOf(text: string, name: string): unknown {
  const value = readJson(text)
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
      (_, text: string) => decode(text),
      SYNC,
    )
    .registerFunction('base64Encode(string): string', encode, SYNC)
    .registerFunction('base64Encode(bytes): string', encode, SYNC)
    .registerFunction('base64Decode(string): bytes', decode, SYNC)
    .registerType('UrlNamespace', UrlNamespace)
    .registerConstant('url', 'UrlNamespace', new UrlNamespace())
    .registerFunction(
      'UrlNamespace.encode(string): string',
      (_, text: string) => escape(text),
      SYNC,
    )
    .registerFunction(
      'UrlNamespace.decode(string): string',
      (_, text: string) => decodeURIComponent(text),
      SYNC,
    )
}

/** Both alphabets, padding optional; anything else is refused, as Buffer would skip it. */
function decode(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw new CelFault('conversion')
  return Buffer.from(text, 'base64')
}

/** Everything but RFC 3986's unreserved characters. */
function escape(text: string): string {
  // One character can become nine.
  if (text.length > MAX_TEXT / 9) throw new CelFault('too_large')
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

/** Parts of CEL that version 8.0.0 of the library leaves out. */
function registerMissing(environment: Environment): void {
  const time = 'google.protobuf.Timestamp'
  const span = 'google.protobuf.Duration'
  const compare = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(a, b)
  environment
    .registerFunction('int(uint): int', (value: UnsignedInt) => intOf(BigInt(String(value))), SYNC)
    .registerFunction(
      `int(${time}): int`,
      (value: Date) => BigInt(Math.floor(value.getTime() / 1000)),
      SYNC,
    )
    .registerFunction(`string(${time}): string`, timeText, SYNC)
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

/** What it says is for whoever reads the expression. */
function fail(): never {
  throw new CelFault('failed')
}

function intOf(value: bigint): bigint {
  if (value > MAX_INT) throw new CelFault('arithmetic')
  return value
}

/** Without milliseconds when there are none. */
function timeText(value: Date): string {
  return value.toISOString().replace('.000Z', 'Z')
}

function contains(list: readonly unknown[], wanted: unknown): boolean {
  return list.some(
    (item) =>
      item === wanted ||
      // An int and a double of the same value are equal in CEL.
      (isNumber(item) && isNumber(wanted) && item == wanted) ||
      isDeepStrictEqual(item, wanted),
  )
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CelFault('conversion')
  }
}
