// Configuration text → Config, in three steps: YAML with variables, shape, and what the parts mean together.

import { resolve } from 'node:path'
import { namedTargets } from './check/backends.ts'
import { Context } from './check/context.ts'
import { checkGateways, checkPorts } from './check/gateways.ts'
import type { OpenGateway } from './check/gateways.ts'
import {
  backendLimitsOf,
  llmLimitsOf,
  mcpLimitsOf,
  processOf,
  wireLimitsOf,
} from './check/process.ts'
import { checkRoutes } from './check/routes.ts'
import { checkSections } from './check/sections.ts'
import { uiOf } from './check/ui.ts'
import { documentsOf } from './documents.ts'
import { ConfigError } from './error.ts'
import type { Environment } from './expand.ts'
import { readInputs } from './inputs.ts'
import type { InputText, ReadInput } from './inputs.ts'
import { Problems } from './problems.ts'
import { attachResources } from './resources.ts'
import { FILE, partsOf } from './shape/file.ts'
import { sourcesOf } from './source.ts'
import type { Source } from './source.ts'
import type { Config } from './types.ts'
import { refuseUnenforced } from './unenforced.ts'
import { report, wording } from './wording.ts'

/** Files, folders of files, or `-` for standard input. Throws a ConfigError that tells everything found wrong. */
export function loadConfig(
  inputs: readonly string[],
  env: Environment = process.env,
  input?: ReadInput,
): Config {
  const problems = new Problems()
  const { texts, files, folders } = readInputs(inputs, problems, input)
  problems.check()
  const config = configOf(texts, env, 'on')
  const others = files.filter((file) => file !== resolve(config.file))
  return freeze({ ...config, files: [...others, ...config.files], folders })
}

export interface ParseOptions {
  /** What messages call it; files it names are found from its folder. */
  readonly file: string
  readonly env?: Environment
  /** `off` lets pass what is checked but not enforced, for specs of the checks. */
  readonly gate?: Gate
}

type Gate = 'on' | 'off'

export function parseConfig(text: string, options: ParseOptions): Config {
  const { file, env = process.env, gate = 'on' } = options
  return freeze(configOf([{ file, text }], env, gate))
}

function configOf(texts: readonly InputText[], env: Environment, gate: Gate): Config {
  const problems = new Problems()
  const sources = texts.flatMap(({ text, file }) => readSources(text, file, env, problems))
  problems.check()
  const { main, resources } = documentsOf(sources, texts[0]?.file ?? '', problems)
  const config = main === undefined ? undefined : mainOf(main, problems, gate)
  problems.check()
  const { gateways } = config!
  return { ...config!, resources: attachResources(resources, gateways) }
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

interface OpenConfig extends Omit<Config, 'resources'> {
  readonly gateways: readonly OpenGateway[]
}

function mainOf(source: Source, problems: Problems, gate: Gate): OpenConfig {
  const context = new Context(source, problems)
  const whole = FILE.safeParse(source.data, { error: wording })
  if (!whole.success) report(context, whole.error.issues)
  const parts = partsOf(source.data)
  const written = checkGateways(context, parts.gateways)
  const to = { gateways: written, names: [...parts.gateways.keys()] }
  checkRoutes(context, parts.routes, to, namedTargets(context, parts))
  const own = checkSections(context, parts, to)
  checkPorts(context, [
    ...written.map(({ name, port }) => ({ port, path: ['gateways', name] })),
    ...own.map(({ name, port }) => ({ port, path: [name] })),
  ])
  const gateways = [...written, ...own]
  if (whole.success && gateways.length === 0)
    context.problem([], 'got no gateways, expected at least one: nothing would listen')
  const ui = uiOf(context, parts.ui, to)
  problems.check()
  if (gate === 'on') refuseUnenforced(source.data, context)
  return {
    file: source.file,
    files: [...context.files],
    folders: [],
    process: processOf(parts.config ?? {}),
    backend: backendLimitsOf(parts.config ?? {}),
    mcp: mcpLimitsOf(parts.config ?? {}),
    llm: llmLimitsOf(parts.config ?? {}),
    wire: wireLimitsOf(parts.frontendPolicies ?? {}),
    gateways,
    ui,
    places: context.places,
    warnings: [...context.warnings],
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
