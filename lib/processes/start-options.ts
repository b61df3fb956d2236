// The options that a gateway process starts with, and the log lines about its configuration.

import { resolveAddresses } from '../config/check/check-process.ts'
import { QUICKSTART_FILE, formatQuickstartHints } from '../config/quickstart.ts'
import { listResourceProblems } from '../config/policy-resources.ts'
import type { Config } from '../config/config-types.ts'
import type { Log } from '../core/log.ts'

export interface StartOptions {
  /** Reads the configuration; called again for every reload. */
  readonly load: () => Config
  /** Whether a reload can find a change: false for the quickstart and for standard input. */
  readonly mayChange: boolean
  /** The configuration read from standard input; null when it came from elsewhere. */
  readonly input: () => string | null
  readonly env: Readonly<Record<string, string | undefined>>
  readonly exit: (code: number) => void
}

/** A configuration and when it was read, in milliseconds since 1970. */
export interface LoadedConfig {
  readonly config: Config
  readonly readAt: number
}

export function loadStartConfig(start: StartOptions): LoadedConfig {
  const readAt = Date.now()
  return { config: start.load(), readAt }
}

export function logLoadedConfig(config: Config, log: Log): void {
  log.write('info', 'gateway', 'loaded config', ['file', config.file, 'generation', 1])
  logConfigProblems(config, log)
}

/** Logs what is probably a mistake in a configuration that is in use. */
export function logConfigProblems({ warnings, resources }: Config, log: Log): void {
  for (const message of warnings) log.write('warn', 'config', message, [])
  for (const { level, event, policy, message } of listResourceProblems(resources))
    log.write(level, 'config', event, ['policy', policy, 'problem', message])
}

/** Prints the quickstart hints after all log lines so far. */
export function logConfigHints(
  { file, process: written }: Config,
  log: Log,
  { env }: StartOptions,
): void {
  log.flush()
  if (file !== QUICKSTART_FILE) return
  process.stdout.write(`${formatQuickstartHints(resolveAddresses(written, env).admin)}\n`)
}
