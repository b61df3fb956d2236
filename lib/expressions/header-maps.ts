// Maps for expressions that hold nothing themselves: header fields read in place, and what is not there.

import type { HeaderFields } from '../core/head.ts'
import { CelFault } from './expression-errors.ts'

/** Header fields by name, in any case. Nothing is copied before it is read. */
export class FieldsView extends Map<string, unknown> {
  readonly #fields: HeaderFields
  readonly #shape: (lines: string[]) => unknown

  /** `shape` makes a value of the lines of a field. */
  constructor(fields: HeaderFields, shape: (lines: string[]) => unknown) {
    super()
    this.#fields = fields
    this.#shape = shape
  }

  override get(name: unknown): unknown {
    if (typeof name !== 'string') return undefined
    const lines = this.#fields.getAll(name.toLowerCase())
    return lines.length === 0 ? undefined : this.#shape(lines)
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

/** A text for one field line, a list for several. */
export class HeadersMap extends FieldsView {
  readonly #own: HeaderFields

  constructor(fields: HeaderFields) {
    super(fields, (lines) => (lines.length > 1 ? lines : lines[0]))
    this.#own = fields
  }

  /** The same fields in another shape. */
  withShape(shape: (lines: readonly string[]) => unknown): FieldsView {
    return new FieldsView(this.#own, shape)
  }
}

/** Claims nobody has verified: no key is there, and asking for all of them is a fault rather than "none". */
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

// The library tells maps from other objects by their constructor.
for (const { prototype } of [FieldsView, HeadersMap, AbsentMap])
  Object.defineProperty(prototype, 'constructor', { value: Map })

export const ABSENT_CLAIMS: ReadonlyMap<string, unknown> = new AbsentMap()
