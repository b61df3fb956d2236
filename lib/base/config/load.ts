// Configuration text → Config, in three steps: YAML with variables, shape, and what the parts mean together.

import { resolve } from 'node:path'
import { Context } from './check/context.ts'
import { checkGateways } from './check/gateways.ts'
import { backendLimitsOf, processOf, wireLimitsOf } from './check/process.ts'
import { checkRoutes } from './check/routes.ts'
import { documentsOf } from './documents.ts'
import { ConfigError } from './error.ts'
import type { Environment } from './expand.ts'
import { readInputs } from './inputs.ts'
import type { InputText } from './inputs.ts'
import { Problems } from './problems.ts'
import { FILE, partsOf } from './shape/file.ts'
import { sourcesOf } from './source.ts'
import type { Source } from './source.ts'
import type { Config } from './types.ts'
import { report, wording } from './wording.ts'

/** Files, folders of files, or `-` for standard input. Throws a ConfigError that tells everything found wrong. */
export function loadConfig(inputs: readonly string[], env: Environment = process.env): Config {
  const problems = new Problems()
  const { texts, files, folders } = readInputs(inputs, problems)
  problems.check()
  const config = configOf(texts, env)
  const others = files.filter((file) => file !== resolve(config.file))
  return freeze({ ...config, files: [...others, ...config.files], folders })
}

export interface ParseOptions {
  /** What messages call it; files it names are found from its folder. */
  readonly file: string
  readonly env?: Environment
}

export function parseConfig(text: string, options: ParseOptions): Config {
  const { file, env = process.env } = options
  return freeze(configOf([{ file, text }], env))
}

function configOf(texts: readonly InputText[], env: Environment): Config {
  const problems = new Problems()
  const sources = texts.flatMap(({ text, file }) => readSources(text, file, env, problems))
  problems.check()
  const { main } = documentsOf(sources, texts[0]?.file ?? '', problems)
  const config = main === undefined ? undefined : mainOf(main, problems)
  problems.check()
  return config!
}

/** None of a file that has problems. */
function readSources(text: string, file: string, env: Environment, problems: Problems): Source[] {
  try {
    return sourcesOf(text, file, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems) problems.add(problem)
    return []
  }
}

function mainOf(source: Source, problems: Problems): Config {
  const context = new Context(source, problems)
  const whole = FILE.safeParse(source.data, { error: wording })
  if (!whole.success) report(context, whole.error.issues)
  const parts = partsOf(source.data)
  const gateways = checkGateways(context, parts.gateways)
  checkRoutes(context, parts.routes, { gateways, names: [...parts.gateways.keys()] })
  if (whole.success && gateways.length === 0)
    context.problem([], 'got no gateways, expected at least one: nothing would listen')
  return {
    file: source.file,
    files: [...context.files],
    folders: [],
    process: processOf(parts.config ?? {}),
    backend: backendLimitsOf(parts.config ?? {}),
    wire: wireLimitsOf(parts.frontendPolicies ?? {}),
    gateways,
  }
}

/** All the way down through plain data; what has a class of its own looks after itself. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  Object.freeze(value)
  for (const part of Object.values(value)) freeze(part)
  return value
}
