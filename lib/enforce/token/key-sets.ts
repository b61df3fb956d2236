// Key sets of identity providers, fetched, kept and fetched again.

import type { Log } from '../../base/log.ts'

export class KeySets {
  constructor(_log: Log) {}
  retain(_urls: ReadonlySet<string>): void {}
  close(): void {}
}
