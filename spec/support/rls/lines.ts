// A log that keeps its lines, for parts of the gateway that are tried alone.

import { Log } from '../../../lib/base/log/log.ts'
import type { Level, Value } from '../../../lib/base/log/log.ts'

export class Lines extends Log {
  /** Level, message and fields. */
  readonly all: [Level, string, ...Value[]][] = []

  constructor() {
    super({ level: 'debug', format: 'json' })
  }

  override line(level: Level, _module: string, message: string, fields: readonly Value[]): void {
    this.all.push([level, message, ...fields])
  }
}
