// What a process of the gateway is started with.

import { addressesOf } from '../base/config/check/process.ts'
import { QUICKSTART_FILE, quickstartHints } from '../base/config/quickstart.ts'
import { complaintsOf } from '../base/config/resources.ts'
import type { Config } from '../base/config/types.ts'
import type { Log } from '../base/log/log.ts'

export interface Start {
  /** Reads the configuration, again and again. */
  readonly load: () => Config
  /** Whether another reading could find something else: the quickstart and standard input stay what they are. */
  readonly mayChange: boolean
  /** What was read from standard input; null when nothing was. */
  readonly input: () => string | null
  readonly env: Readonly<Record<string, string | undefined>>
  readonly exit: (code: number) => void
}

/** A configuration as it was read at a moment, in milliseconds since 1970. */
export interface Loaded {
  readonly config: Config
  readonly readAt: number
}

export function load(start: Start): Loaded {
  const readAt = Date.now()
  return { config: start.load(), readAt }
}

export function tellLoaded({ file, warnings, resources }: Config, log: Log): void {
  log.line('info', 'gateway', 'loaded config', ['file', file, 'generation', 1])
  for (const message of [...warnings, ...complaintsOf(resources)])
    log.line('warn', 'config', message, [])
}

/** Behind all lines so far. */
export function tellHints({ file, process: written }: Config, log: Log, { env }: Start): void {
  log.flush()
  if (file !== QUICKSTART_FILE) return
  process.stdout.write(`${quickstartHints(addressesOf(written, env).admin)}\n`)
}
