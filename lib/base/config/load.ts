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
import type { Inputs, ReadInput } from './inputs.ts'
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
  const read = readInputs(inputs, problems, input)
  problems.check()
  return configOf(read, new Map(), { env })
}

/** What a configuration was read from: a process that is given it comes to the same one. It has secrets. */
export interface Written {
  readonly inputs: Inputs
  /** Texts of the files it names, by absolute path. */
  readonly named: readonly (readonly [string, string])[]
}

/** Beside the configuration, so that nothing that shows one shows it. */
const WRITTEN = new WeakMap<Config, Written>()

export function writtenOf(config: Config): Written {
  const written = WRITTEN.get(config)
  if (written === undefined) throw new Error('this configuration was not read')
  return written
}

/** Whatever has become of the files. */
export function loadAgain({ inputs, named }: Written, env: Environment = process.env): Config {
  return configOf(inputs, new Map(named), { env })
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
  const { file, env = process.env, gate } = options
  const inputs = { texts: [{ file, text }], files: [], folders: [] }
  return configOf(inputs, new Map(), { env, gate })
}

interface Reading {
  readonly env: Environment
  readonly gate?: Gate | undefined
}

/** `named` has files that were read before, and gets those that are read now. */
function configOf(inputs: Inputs, named: Map<string, string>, { env, gate }: Reading): Config {
  const { texts, files, folders } = inputs
  const problems = new Problems()
  const sources = texts.flatMap(({ text, file }) => readSources(text, file, env, problems))
  problems.check()
  const { main, resources } = documentsOf(sources, texts[0]?.file ?? '', problems)
  const context = main === undefined ? undefined : new Context(main, problems, named)
  const found = context === undefined ? undefined : mainOf(context, problems, gate ?? 'on')
  problems.check()
  const { gateways } = found!
  const others = files.filter((file) => file !== resolve(found!.file))
  const config = freeze({
    ...found!,
    files: [...others, ...found!.files],
    folders,
    resources: attachResources(resources, gateways),
  })
  WRITTEN.set(config, { inputs, named: [...named] })
  return config
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

function mainOf(context: Context, problems: Problems, gate: Gate): OpenConfig {
  const { source } = context
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
