// Parses configuration texts, or returns the problems for which they are refused.

import { ConfigError } from '../../lib/config/config-error.ts'
import { parseConfig } from '../../lib/config/load.ts'
import type { Config, ListenerConfig, RouteConfig } from '../../lib/config/config-types.ts'

type Env = Record<string, string>

export function configOf(text: string, env: Env = {}): Config {
  return parseConfig(text, { file: 'c.yaml', env })
}

/** The lines of the refusal; empty for a valid configuration. */
export function problemsOf(text: string, env: Env = {}, file = 'c.yaml'): string[] {
  try {
    parseConfig(text, { file, env })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
}

/** Without the check for settings that are not enforced yet. */
export function ungatedConfig(text: string, env: Env = {}): Config {
  return parseConfig(text, { file: 'c.yaml', env, gate: 'off' })
}

/** The problems of the checks, without those for settings not enforced yet, and without positions. */
export function ungatedProblems(text: string): string[] {
  try {
    ungatedConfig(text)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n').map((line) => line.replace(/^c\.yaml:\d+:\d+: /, ''))
  }
}

const GATEWAY = 'gateways: { default: { port: 3000 } }\n'

/** A configuration with one route; `fields` is YAML in flow form, without braces. */
export function routeText(fields: string): string {
  return `${GATEWAY}routes:\n- { ${fields} }\n`
}

/** The problems of one route, without positions. */
export function routeProblems(fields: string): string[] {
  return problemsOf(routeText(fields)).map((line) => line.replace(/^c\.yaml:\d+:\d+: /, ''))
}

export function firstListener(config: Config): ListenerConfig {
  return config.gateways[0]!.listeners[0]!
}

export function routeOf(fields: string): RouteConfig {
  return firstListener(configOf(routeText(fields))).routes[0]!
}
