// Functions over maps: `merge`, and views of header fields that are the same however often a field was sent.

import type { Environment } from '@marcbachmann/cel-js'
import { MAX_LITERAL } from './bounds.ts'
import { CelFault } from './errors.ts'
import { HeadersMap } from './headers-map.ts'
import type { FieldsView } from './headers-map.ts'

const SYNC = { async: false }

/** A literal is a plain object. */
type AnyMap = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>

export function registerMaps(environment: Environment): void {
  environment
    .registerFunction('map.merge(map): map', merge, SYNC)
    .registerFunction('map.cookie(string): string', cookie, SYNC)
    .registerFunction('map.join(): map', (map: AnyMap) => viewOf(map, joined), SYNC)
    .registerFunction('map.split(): map', (map: AnyMap) => viewOf(map, split), SYNC)
}

/** Of a key in both, the second's value. */
function merge(one: AnyMap, other: AnyMap): Map<unknown, unknown> {
  const merged = new Map([...entriesOf(one), ...entriesOf(other)])
  if (merged.size > MAX_LITERAL) throw new CelFault('too_large')
  return merged
}

function entriesOf(map: AnyMap): Iterable<[unknown, unknown]> {
  return map instanceof Map ? map.entries() : Object.entries(map)
}

/** The value of a cookie, out of header fields; the first if there are several. */
function cookie(map: AnyMap, name: string): string {
  const header = map instanceof Map ? (map as ReadonlyMap<unknown, unknown>).get('cookie') : null
  const lines = Array.isArray(header) ? (header as unknown[]) : [header]
  for (const line of lines)
    for (const part of typeof line === 'string' ? line.split(';') : []) {
      const at = part.indexOf('=')
      if (at >= 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
    }
  throw new CelFault('no_such_key')
}

/** Each field as one text, as if it had been sent in one line. */
function joined(lines: readonly string[]): string {
  return lines.join(', ')
}

/** Each field as a list of its elements. */
function split(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.split(',').map((part) => part.trim()))
}

function viewOf(map: AnyMap, shape: (lines: readonly string[]) => unknown): FieldsView {
  // Nothing but header fields may come in several lines.
  if (!(map instanceof HeadersMap)) throw new CelFault('no_such_overload')
  return map.seenAs(shape)
}
