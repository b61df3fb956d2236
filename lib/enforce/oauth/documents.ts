// Discovery documents of identity providers, cached briefly.

import type { Log } from '../../base/log.ts'

export class Documents {
  constructor(_log: Log) {}
  retain(_urls: ReadonlySet<string>): void {}
}
