// The storage of an identity provider. It outlives the provider object, which is built again when keys change.

import type { Adapter, AdapterPayload } from 'oidc-provider'

export class Store {
  readonly #entries = new Map<string, AdapterPayload>()

  /** The adapter for one kind of entry: clients, codes, sessions, refresh tokens. */
  of(kind: string): Adapter {
    const keyOf = (id: string): string => `${kind} ${id}`
    const found = (fits: (entry: AdapterPayload) => boolean): AdapterPayload | undefined => {
      for (const [key, entry] of this.#entries)
        if (key.startsWith(`${kind} `) && fits(entry)) return entry
      return undefined
    }
    return {
      upsert: async (id, payload) => void this.#entries.set(keyOf(id), payload),
      find: async (id) => this.#entries.get(keyOf(id)),
      findByUid: async (uid) => found((entry) => entry.uid === uid),
      findByUserCode: async (code) => found((entry) => entry.userCode === code),
      consume: async (id) => {
        const entry = this.#entries.get(keyOf(id))
        if (entry !== undefined) entry.consumed = Math.floor(Date.now() / 1000)
      },
      destroy: async (id) => void this.#entries.delete(keyOf(id)),
      revokeByGrantId: async (grant) => {
        for (const [key, entry] of this.#entries)
          if (entry.grantId === grant) this.#entries.delete(key)
      },
    }
  }
}
