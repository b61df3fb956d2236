// Maps for expressions that hold no values themselves: header fields read in place, and absent claims.

import { RequestHead } from '../core/head.ts'
import type { HeaderFields } from '../core/head.ts'
import { CelFault } from './expression-errors.ts'

/** Converts the lines of a field to a value; `name` is in lower case. */
export type HeaderShape = (lines: readonly string[], name: string) => unknown

/** Joins the lines of a field, as if it had been sent in one line: no rule is evaded by sending a field twice. */
export function joinHeaderLines(lines: readonly string[], name: string): string {
  return lines.length === 1 ? lines[0]! : lines.join(name === 'cookie' ? '; ' : ', ')
}

/** Header fields by name, case-insensitive. A value is copied only when it is read. */
export class FieldsView extends Map<string, unknown> {
  readonly #fields: HeaderFields
  readonly #shape: HeaderShape

  constructor(fields: HeaderFields, shape: HeaderShape) {
    super()
    this.#fields = fields
    this.#shape = shape
  }

  override get(name: unknown): unknown {
    if (typeof name !== 'string') return undefined
    const lower = name.toLowerCase()
    const lines = findFieldLines(this.#fields, lower)
    return lines.length === 0 ? undefined : this.#shape(lines, lower)
  }

  override has(name: unknown): boolean {
    return this.get(name) !== undefined
  }

  override get size(): number {
    return this.#names().size
  }

  override keys(): MapIterator<string> {
    return this.#names().keys()
  }

  override entries(): MapIterator<[string, unknown]> {
    const map = new Map<string, unknown>()
    for (const name of this.#names()) map.set(name, this.get(name))
    return map.entries()
  }

  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries()
  }

  #names(): Set<string> {
    const names = new Set<string>()
    for (const [name] of this.#fields.entries()) names.add(name)
    return names
  }
}

/** Host has the form that routes match, so that a rule cannot be evaded by another spelling. */
function findFieldLines(fields: HeaderFields, name: string): string[] {
  const isNormalized = name === 'host' && fields instanceof RequestHead && fields.authority !== ''
  return isNormalized ? [fields.authority] : fields.getAll(name)
}

/** One string for each field. */
export class HeadersMap extends FieldsView {
  readonly #headers: HeaderFields

  constructor(fields: HeaderFields) {
    super(fields, joinHeaderLines)
    this.#headers = fields
  }

  /** The same fields with another conversion. */
  withShape(shape: HeaderShape): FieldsView {
    return new FieldsView(this.#headers, shape)
  }
}

/** Claims of a request without a token: it has no keys, and reading all of them is a fault rather than an empty map. */
class AbsentMap extends Map<string, unknown> {
  override get size(): number {
    throw new CelFault('no_such_key')
  }

  override keys(): never {
    throw new CelFault('no_such_key')
  }

  override entries(): never {
    throw new CelFault('no_such_key')
  }

  override [Symbol.iterator](): never {
    throw new CelFault('no_such_key')
  }
}

// The library recognises maps by their constructor.
for (const { prototype } of [FieldsView, HeadersMap, AbsentMap])
  Object.defineProperty(prototype, 'constructor', { value: Map })

export const ABSENT_CLAIMS: ReadonlyMap<string, unknown> = new AbsentMap()
