// Tokens that were checked before, by their hash: the token itself is not kept. The least recently used is dropped first.

import { hash } from 'node:crypto'
import { LRUMapWithDelete } from 'mnemonist'
import type { Verification } from './types.ts'

/** Tokens of one policy. */
export const MAX_TOKENS = 10_000

interface Entry {
  readonly verification: Verification
  readonly generation: number
  readonly until: number
}

export class TokenCache {
  readonly #entries = new LRUMapWithDelete<string, Entry>(MAX_TOKENS)

  static hashOf(token: string): string {
    return hash('sha256', token, 'base64')
  }

  /** Undefined when the token was never seen, has expired, or was checked by other keys. */
  get(hash: string, generation: number, now: number): Verification | undefined {
    const entry = this.#entries.get(hash)
    if (entry === undefined) return undefined
    if (entry.generation === generation && now < entry.until) return entry.verification
    this.#entries.delete(hash)
    return undefined
  }

  set(hash: string, entry: Entry): void {
    this.#entries.set(hash, entry)
  }

  get size(): number {
    return this.#entries.size
  }
}
