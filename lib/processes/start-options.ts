// What a process of the gateway is started with.

import { resolveAddresses } from '../config/check/check-process.ts'
import { QUICKSTART_FILE, formatQuickstartHints } from '../config/quickstart.ts'
import { describeResourceProblems } from '../config/policy-resources.ts'
import type { Config } from '../config/config-types.ts'
import type { Log } from '../core/log.ts'

export interface StartOptions {
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
export interface LoadedConfig {
  readonly config: Config
  readonly readAt: number
}

export function loadStartConfig(start: StartOptions): LoadedConfig {
  const readAt = Date.now()
  return { config: start.load(), readAt }
}

export function logLoadedConfig({ file, warnings, resources }: Config, log: Log): void {
  log.write('info', 'gateway', 'loaded config', ['file', file, 'generation', 1])
  for (const message of [...warnings, ...describeResourceProblems(resources)])
    log.write('warn', 'config', message, [])
}

/** Behind all lines so far. */
export function logConfigHints(
  { file, process: written }: Config,
  log: Log,
  { env }: StartOptions,
): void {
  log.flush()
  if (file !== QUICKSTART_FILE) return
  process.stdout.write(`${formatQuickstartHints(resolveAddresses(written, env).admin)}\n`)
}
