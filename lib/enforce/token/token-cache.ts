// Tokens that were checked before, by their hash: the token itself is not kept. The one used longest ago goes first.

import { hash } from 'node:crypto'
import type { Verification } from './types.ts'

/** Tokens of one policy. */
export const MAX_TOKENS = 10_000

interface Entry {
  readonly verification: Verification
  readonly generation: number
  readonly until: number
}

export class TokenCache {
  readonly #entries = new Map<string, Entry>()

  static hashOf(token: string): string {
    return hash('sha256', token, 'base64')
  }

  /** Undefined when the token was never seen, has expired, or was checked by other keys. */
  get(hash: string, generation: number, now: number): Verification | undefined {
    const entry = this.#entries.get(hash)
    if (entry === undefined) return undefined
    this.#entries.delete(hash)
    if (entry.generation !== generation || now >= entry.until) return undefined
    this.#entries.set(hash, entry)
    return entry.verification
  }

  set(hash: string, entry: Entry): void {
    this.#entries.delete(hash)
    this.#entries.set(hash, entry)
    if (this.#entries.size <= MAX_TOKENS) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }

  get size(): number {
    return this.#entries.size
  }
}
