// Every key set in use: those of a URL are shared by all policies that name it.

import { LRUMapWithDelete } from 'mnemonist'
import type { PublicKey } from '../../base/config/auth-types.ts'
import type { Fetch } from '../../base/fetch-text.ts'
import type { Log } from '../../base/log/log.ts'
import { Keys } from './keys.ts'
import { RemoteKeys } from './remote-keys.ts'
import type { Clock, KeySource } from './remote-keys.ts'

/** More than any configuration has; a key set that was dropped is fetched again. */
const MAX_KEY_SETS = 256

export class KeySets {
  readonly #log: Log
  readonly #fetch: Fetch
  readonly #clock: Clock
  readonly #remote = new LRUMapWithDelete<string, RemoteKeys>(MAX_KEY_SETS)

  constructor(log: Log, fetch: Fetch, clock: Clock = performance) {
    this.#log = log
    this.#fetch = fetch
    this.#clock = clock
  }

  at(url: string): KeySource {
    let keys = this.#remote.get(url)
    if (keys === undefined) {
      keys = new RemoteKeys(url, this.#fetch, this.#log, this.#clock)
      this.#remote.set(url, keys)
    }
    return keys
  }

  /** Why the keys of a URL cannot be had, as far as the last try tells; null when they can, or nobody has asked for them. */
  faultAt(url: string): string | null {
    return this.#remote.peek(url)?.status.error ?? null
  }

  /** The state of each key set, the least recently used first. */
  get status(): RemoteKeys['status'][] {
    return [...this.#remote.values()].map((keys) => keys.status).reverse()
  }
}

/** Keys that stand in the configuration. */
export function fixedKeys(jwks: readonly PublicKey[]): KeySource {
  const keys = new Keys(jwks)
  return { generation: 0, current: () => keys, renew: () => Promise.resolve(false) }
}
