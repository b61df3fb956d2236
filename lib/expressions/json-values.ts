// JSON values for expressions: objects are Maps, so that no prototype is reachable and a claim named `constructor` is an
// ordinary key; integers are BigInts, so that they stay integers.

import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { MAX_CEL_JSON_DEPTH, MAX_CEL_TEXT } from './meter.ts'
import { CelFault } from './expression-errors.ts'
import type { Claims } from '../core/facts.ts'

const MAX_INT = 2n ** 63n - 1n
const MIN_INT = -(2n ** 63n)

/** Converts a value of `JSON.parse`; integers that it rounded stay rounded. */
export function jsonToCel(value: unknown, depth = 0): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_CEL_JSON_DEPTH) throw new CelFault('too_deep')
  if (Array.isArray(value)) return value.map((item) => jsonToCel(item, depth + 1))
  const map = new Map<string, unknown>()
  for (const [key, item] of Object.entries(value)) map.set(key, jsonToCel(item, depth + 1))
  return map
}

/** Parses JSON text with exact integers. Throws if the text is not JSON. */
export function parseCelJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Only a long run of digits can lose precision in a double.
  return /\d{16}/.test(text) ? new ExactReader(text).value(0) : jsonToCel(value)
}

const TOKEN = /[\s,:]*("(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*|[[\]{}]|true|false|null)/y

/** Reads text that is known to be JSON. */
class ExactReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): unknown {
    return this.#valueOf(this.#next(), depth)
  }

  #valueOf(token: string, depth: number): unknown {
    if (depth > MAX_CEL_JSON_DEPTH) throw new CelFault('too_deep')
    if (token === '[') return this.#list(depth)
    if (token === '{') return this.#map(depth)
    return /^[-\d]/.test(token) ? parseCelNumber(token) : (JSON.parse(token) as unknown)
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = []
    for (let token = this.#next(); token !== ']'; token = this.#next())
      list.push(this.#valueOf(token, depth + 1))
    return list
  }

  #map(depth: number): Claims {
    const map = new Map<string, unknown>()
    for (let token = this.#next(); token !== '}'; token = this.#next())
      map.set(JSON.parse(token) as string, this.value(depth + 1))
    return map
  }

  #next(): string {
    TOKEN.lastIndex = this.#at
    const token = TOKEN.exec(this.#text)
    if (token === null) throw new CelFault('conversion')
    this.#at = TOKEN.lastIndex
    return token[1]!
  }
}

function parseCelNumber(token: string): bigint | number {
  if (!/^-?\d+$/.test(token)) {
    const value = Number(token)
    return Number.isSafeInteger(value) ? BigInt(value) : value
  }
  const value = BigInt(token)
  return value <= MAX_INT && value >= MIN_INT ? value : Number(token)
}

/** Any value of an expression as JSON text; bytes as base64, times and durations as CEL writes them. */
export function celToJson(value: unknown): string {
  const text = new CelJsonWriter().text(value, 0)
  if (text.length > MAX_CEL_TEXT) throw new CelFault('too_large')
  return text
}

/** Stops when the text gets too long: a value that an expression put into a list many times is written as often. */
class CelJsonWriter {
  /** Characters that still fit, counted as they become certain. */
  #remaining = MAX_CEL_TEXT

  text(value: unknown, depth: number): string {
    if (depth > MAX_CEL_JSON_DEPTH) throw new CelFault('too_deep')
    this.#count(1)
    if (Array.isArray(value))
      return `[${value.map((item) => this.text(item, depth + 1)).join(',')}]`
    if (isMap(value)) return `{${this.#fields(value, depth).join(',')}}`
    if (typeof value === 'string') this.#count(value.length)
    return scalarToJson(value)
  }

  #fields(map: JsonMapLike, depth: number): string[] {
    const entries = map instanceof Map ? [...map.entries()] : Object.entries(map)
    return entries.map(
      ([key, item]) => `${JSON.stringify(String(key))}:${this.text(item, depth + 1)}`,
    )
  }

  #count(length: number): void {
    this.#remaining -= length
    if (this.#remaining < 0) throw new CelFault('too_large')
  }
}

/** A map literal is a plain object. */
type JsonMapLike = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>

function isMap(value: unknown): value is JsonMapLike {
  if (typeof value !== 'object' || value === null) return false
  return value instanceof Map || Object.getPrototypeOf(value) === Object.prototype
}

function scalarToJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null'
    case 'object':
      return objectToJson(value)
    default:
      throw new CelFault('no_such_overload')
  }
}

function objectToJson(value: object | null): string {
  if (value === null) return 'null'
  if (value instanceof UnsignedInt) return String(value)
  if (value instanceof Date) return JSON.stringify(value)
  if (value instanceof Duration) return JSON.stringify(String(value))
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'))
  throw new CelFault('no_such_overload')
}
