// What the gateway knows of identity providers: their keys and their documents. It lives beside the plans, so that a
// reload fetches nothing anew.

import type { Log } from '../base/log.ts'
import { Documents } from './oauth/documents.ts'
import { KeySets } from './token/key-sets.ts'

export class Identity {
  readonly keys: KeySets
  readonly documents: Documents
  readonly log: Log

  constructor(log: Log) {
    this.log = log
    this.keys = new KeySets(log)
    this.documents = new Documents(log)
  }

  /** Forgets what no plan names any more. */
  retain(urls: ReadonlySet<string>): void {
    this.keys.retain(urls)
    this.documents.retain(urls)
  }

  close(): void {
    this.keys.close()
    this.documents.close()
  }
}
