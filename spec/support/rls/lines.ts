// A log that records its lines, for parts of the gateway that are tested alone.

import { Log } from '../../../lib/core/log.ts'
import type { LoggingLevel, LogValue } from '../../../lib/core/log.ts'

export class Lines extends Log {
  /** Level, message and fields. */
  readonly all: [LoggingLevel, string, ...LogValue[]][] = []

  constructor() {
    super({ level: 'debug', format: 'json' })
  }

  override write(
    level: LoggingLevel,
    _module: string,
    message: string,
    fields: readonly LogValue[],
  ): void {
    this.all.push([level, message, ...fields])
  }
}
