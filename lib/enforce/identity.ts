// What the gateway knows of identity providers: their keys and their documents. It lives beside the plans, so that a
// reload fetches nothing anew.

import type { Log } from '../base/log.ts'
import { fetcher } from './fetch-text.ts'
import type { Fetch } from './fetch-text.ts'
import { Documents } from './oauth/documents.ts'
import { KeySets } from './token/key-sets.ts'

export class Identity {
  readonly keys: KeySets
  readonly documents: Documents
  readonly fetch: Fetch
  readonly log: Log
  readonly #close: () => void

  constructor(log: Log) {
    const { fetch, close } = fetcher()
    this.log = log
    this.fetch = fetch
    this.#close = close
    this.keys = new KeySets(log, fetch)
    this.documents = new Documents(log)
  }

  /** Forgets what no plan names any more. */
  retain(urls: ReadonlySet<string>): void {
    this.keys.retain(urls)
    this.documents.retain(urls)
  }

  close(): void {
    this.#close()
  }
}
