// Who owns which name, where names have no prefix: learnt from the lists, and forgotten when they change.

import { MAX_NAMES } from '../bounds.ts'
import type { ItemKind, Owned } from './names.ts'

export class Directory {
  readonly #owners = new Map<string, string>()

  find(kind: ItemKind, name: string): Owned | undefined {
    const target = this.#owners.get(`${kind} ${name}`)
    return target === undefined ? undefined : { target, name }
  }

  /** What a list has shown; names of more than one target are nobody's. */
  learn(kind: ItemKind, owned: readonly Owned[]): void {
    this.forget(kind)
    for (const { name, target } of owned)
      if (this.#owners.size < MAX_NAMES) this.#owners.set(`${kind} ${name}`, target)
  }

  forget(kind: ItemKind): void {
    for (const key of this.#owners.keys()) if (key.startsWith(`${kind} `)) this.#owners.delete(key)
  }
}
