// Who owns which name, where names have no prefix: learnt from the lists, and forgotten when they change.

import { MAX_NAMES } from '../bounds.ts'
import type { ItemKind, Owned } from './names.ts'

interface Known {
  readonly kind: ItemKind
  readonly owners: ReadonlyMap<string, string>
}

export class Directory {
  /** By the method that lists them. */
  readonly #lists = new Map<string, Known>()

  find(kind: ItemKind, name: string): Owned | undefined {
    const known = [...this.#lists.values()].filter((list) => list.kind === kind)
    for (const { owners } of known) {
      const target = owners.get(name)
      if (target !== undefined) return { target, name }
    }
    if (kind !== 'resource') return undefined
    for (const { owners } of known)
      for (const [template, target] of owners) if (fits(name, template)) return { target, name }
    return undefined
  }

  /** What a list has shown; names of more than one target are nobody's. */
  learn(method: string, kind: ItemKind, owned: readonly Owned[]): void {
    const owners = new Map(owned.slice(0, MAX_NAMES).map(({ name, target }) => [name, target]))
    this.#lists.set(method, { kind, owners })
  }

  forget(kind: ItemKind): void {
    for (const [method, list] of this.#lists) if (list.kind === kind) this.#lists.delete(method)
  }
}

/** Whether a URI has the fixed parts of a template (RFC 6570), in their order. */
function fits(uri: string, template: string): boolean {
  const [first = '', ...others] = template.split(/\{[^{}]*\}/)
  const last = others.pop()
  if (last === undefined || !uri.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    const found = uri.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return uri.endsWith(last) && uri.length - last.length >= at
}
