// A JSON Schema behind its references.

import { listOf, membersOf } from './messages.ts'
import type { Members } from './messages.ts'

const MAX_REFERENCES = 16

/** Follows references within one schema. */
export class SchemaReader {
  readonly #whole: unknown

  constructor(whole: unknown) {
    this.#whole = whole
  }

  root(): Members {
    return this.plain(this.#whole)
  }

  /**
   * The schema itself: behind its references, and without `null` as one of two. What is said beside a reference counts
   * for more than what is said behind it.
   */
  plain(schema: unknown): Members {
    let found = membersOf(schema) ?? {}
    for (let left = MAX_REFERENCES; left > 0; left--) {
      const next = this.#next(found)
      if (next === null) return found
      const { $ref: _ref, anyOf: _any, oneOf: _one, allOf: _all, ...beside } = found
      found = { ...next, ...beside }
    }
    return {}
  }

  #next(schema: Members): Members | null {
    const { $ref: reference } = schema
    if (typeof reference === 'string') return this.#at(reference)
    for (const member of ['anyOf', 'oneOf', 'allOf']) {
      const branches = listOf(schema[member]).filter((one) => membersOf(one)?.['type'] !== 'null')
      if (branches.length === 1) return membersOf(branches[0])
    }
    return null
  }

  /** Only within this schema: nothing is fetched. */
  #at(reference: string): Members {
    if (!reference.startsWith('#')) return {}
    let found: unknown = this.#whole
    for (const part of reference.slice(1).split('/').slice(1)) {
      const name = unescaped(part)
      const members = membersOf(found)
      found = members !== null && Object.hasOwn(members, name) ? members[name] : undefined
    }
    return membersOf(found) ?? {}
  }
}

function unescaped(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
