// What a configuration text becomes, or why it is refused.

import { ConfigError } from '../../lib/config/config-error.ts'
import { parseConfig } from '../../lib/config/load.ts'
import type { Config, ListenerConfig, RouteConfig } from '../../lib/config/config-types.ts'

type Env = Record<string, string>

export function configOf(text: string, env: Env = {}): Config {
  return parseConfig(text, { file: 'c.yaml', env })
}

/** The lines of the refusal; none when there is no refusal. */
export function problemsOf(text: string, env: Env = {}, file = 'c.yaml'): string[] {
  try {
    parseConfig(text, { file, env })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
}

/** As if everything that is checked were enforced. */
export function ungatedConfig(text: string, env: Env = {}): Config {
  return parseConfig(text, { file: 'c.yaml', env, unenforced: 'allowed' })
}

/** What the checks refuse, without what is only not enforced yet, and without the places. */
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

/** One route on a gateway of its own; `fields` is YAML in flow form, without braces. */
export function routeText(fields: string): string {
  return `${GATEWAY}routes:\n- { ${fields} }\n`
}

/** What is wrong with one route, without the place. */
export function routeProblems(fields: string): string[] {
  return problemsOf(routeText(fields)).map((line) => line.replace(/^c\.yaml:\d+:\d+: /, ''))
}

export function firstListener(config: Config): ListenerConfig {
  return config.gateways[0]!.listeners[0]!
}

export function routeOf(fields: string): RouteConfig {
  return firstListener(configOf(routeText(fields))).routes[0]!
}
