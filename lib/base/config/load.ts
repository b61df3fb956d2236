// Configuration text → Config, in three steps: YAML with variables, shape, and what the parts mean together.

import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Context, reasonOf } from './check/context.ts'
import { checkGateways } from './check/gateways.ts'
import { backendLimitsOf, processOf, wireLimitsOf } from './check/process.ts'
import { checkRoutes } from './check/routes.ts'
import { ConfigError } from './error.ts'
import type { Environment } from './expand.ts'
import { FILE, partsOf } from './shape/file.ts'
import { Source } from './source.ts'
import type { Config } from './types.ts'
import { report, wording } from './wording.ts'

/** Throws a ConfigError that tells everything found wrong. */
export function loadConfig(file: string, env: Environment = process.env): Config {
  return parseConfig(textOf(file), { file, env })
}

export interface ParseOptions {
  /** What messages call it; files it names are found from its folder. */
  readonly file: string
  readonly env?: Environment
}

export function parseConfig(text: string, options: ParseOptions): Config {
  const { file, env = process.env } = options
  const source = new Source(text, file, env)
  const whole = FILE.safeParse(source.data, { error: wording })
  if (!whole.success) report(source, whole.error.issues)
  const parts = partsOf(source.data)
  const context = new Context(source, dirname(file))
  const gateways = checkGateways(context, parts.gateways)
  checkRoutes(context, parts.routes, { gateways, names: [...parts.gateways.keys()] })
  if (whole.success && gateways.length === 0)
    source.problem([], 'got no gateways, expected at least one: nothing would listen')
  source.check()
  return freeze({
    file,
    files: [...context.files],
    process: processOf(parts.config ?? {}),
    backend: backendLimitsOf(parts.config ?? {}),
    wire: wireLimitsOf(parts.frontendPolicies ?? {}),
    gateways,
  })
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const message = `cannot read the configuration file: ${reasonOf(error)}`
    throw new ConfigError([{ file, line: 0, column: 0, path: '', message }])
  }
}

/** All the way down; what is shared between routes is frozen once. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof RegExp) return value
  Object.freeze(value)
  for (const part of Object.values(value)) freeze(part)
  return value
}
