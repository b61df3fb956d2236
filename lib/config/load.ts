// Configuration text → Config, in three steps: YAML with variables, shape, and what the parts mean together.

import { resolve } from 'node:path'
import { nearest } from '../text/nearest-name.ts'
import { checkNamedBackends } from './check/check-backends.ts'
import { CheckContext } from './check/check-context.ts'
import { checkGateways, checkPorts } from './check/check-gateways.ts'
import type { GatewayDraft } from './check/check-gateways.ts'
import {
  buildBackendLimits,
  buildLlmLimits,
  buildMcpLimits,
  buildProcessConfig,
  buildWireLimits,
} from './check/check-process.ts'
import { checkRoutes } from './check/check-routes.ts'
import { checkSections } from './check/check-sections.ts'
import { checkUi } from './check/check-ui.ts'
import { ConfigError, ConfigProblems } from './config-error.ts'
import type { ConfigPath } from './config-error.ts'
import { readConfigInputs } from './config-files.ts'
import type { ConfigInputs, ReadStdin } from './config-files.ts'
import type { Config } from './config-types.ts'
import { attachResources } from './policy-resources.ts'
import { describeIssue, reportIssues } from './problem-texts.ts'
import type { ProblemReporter } from './problem-texts.ts'
import { CONFIG_DOCUMENT, splitConfigParts } from './shape/document-shapes.ts'
import { parseSources } from './yaml-source.ts'
import type { ConfigSource, EnvironmentVariables } from './yaml-source.ts'

/** Files, folders of files, or `-` for standard input. Throws a ConfigError that tells everything found wrong. */
export function loadConfig(
  inputs: readonly string[],
  env: EnvironmentVariables = process.env,
  input?: ReadStdin,
): Config {
  const problems = new ConfigProblems()
  const read = readConfigInputs(inputs, problems, input)
  problems.throwIfAny()
  return buildConfig(read, new Map(), { env })
}

/** What a configuration was read from: a process that is given it comes to the same one. It has secrets. */
export interface ConfigTexts {
  readonly inputs: ConfigInputs
  /** Texts of the files it names, by absolute path. */
  readonly namedFiles: readonly (readonly [string, string])[]
}

/** Beside the configuration, so that nothing that shows one shows it. */
const WRITTEN = new WeakMap<Config, ConfigTexts>()

export function configTextsOf(config: Config): ConfigTexts {
  const written = WRITTEN.get(config)
  if (written === undefined) throw new Error('this configuration was not read')
  return written
}

/** Whatever has become of the files. */
export function loadFromTexts(
  { inputs, namedFiles }: ConfigTexts,
  env: EnvironmentVariables = process.env,
): Config {
  return buildConfig(inputs, new Map(namedFiles), { env })
}

export interface ConfigParseOptions {
  /** What messages call it; files it names are found from its folder. */
  readonly file: string
  readonly env?: EnvironmentVariables
  /** `off` lets pass what is checked but not enforced, for specs of the checks. */
  readonly gate?: UnenforcedCheck
}

type UnenforcedCheck = 'on' | 'off'

export function parseConfig(text: string, options: ConfigParseOptions): Config {
  const { file, env = process.env, gate } = options
  const inputs = { texts: [{ file, text }], files: [], folders: [] }
  return buildConfig(inputs, new Map(), { env, gate })
}

interface ConfigReadOptions {
  readonly env: EnvironmentVariables
  readonly gate?: UnenforcedCheck | undefined
}

/** `named` has files that were read before, and gets those that are read now. */
function buildConfig(
  inputs: ConfigInputs,
  named: Map<string, string>,
  { env, gate }: ConfigReadOptions,
): Config {
  const { texts, files, folders } = inputs
  const problems = new ConfigProblems()
  const sources = texts.flatMap(({ text, file }) => readSources(text, file, env, problems))
  problems.throwIfAny()
  const { main, resources } = selectDocuments(sources, texts[0]?.file ?? '', problems)
  const context = main === undefined ? undefined : new CheckContext(main, problems, named)
  const found =
    context === undefined ? undefined : checkMainDocument(context, problems, gate ?? 'on')
  problems.throwIfAny()
  const { gateways } = found!
  const others = files.filter((file) => file !== resolve(found!.file))
  const config = freezeDeep({
    ...found!,
    files: [...others, ...found!.files],
    folders,
    resources: attachResources(resources, gateways),
  })
  WRITTEN.set(config, { inputs, namedFiles: [...named] })
  return config
}

/** None of a file that has problems. */
function readSources(
  text: string,
  file: string,
  env: EnvironmentVariables,
  problems: ConfigProblems,
): ConfigSource[] {
  try {
    return parseSources(text, file, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems) problems.add(problem)
    return []
  }
}

interface ConfigDraft extends Omit<Config, 'resources'> {
  readonly gateways: readonly GatewayDraft[]
}

function checkMainDocument(
  context: CheckContext,
  problems: ConfigProblems,
  gate: UnenforcedCheck,
): ConfigDraft {
  const { source } = context
  const whole = CONFIG_DOCUMENT.safeParse(source.data, { error: describeIssue })
  if (!whole.success) reportIssues(context, whole.error.issues)
  const parts = splitConfigParts(source.data)
  const written = checkGateways(context, parts.gateways)
  const to = { gateways: written, names: [...parts.gateways.keys()] }
  checkRoutes(context, parts.routes, to, checkNamedBackends(context, parts))
  const own = checkSections(context, parts, to)
  checkPorts(context, [
    ...written.map(({ name, port }) => ({ port, path: ['gateways', name] })),
    ...own.map(({ name, port }) => ({ port, path: [name] })),
  ])
  const gateways = [...written, ...own]
  if (whole.success && gateways.length === 0)
    context.problem([], 'got no gateways, expected at least one: nothing would listen')
  const ui = checkUi(context, parts.ui, to)
  problems.throwIfAny()
  if (gate === 'on') refuseUnenforced(source.data, context)
  return {
    file: source.file,
    files: [...context.files],
    folders: [],
    process: buildProcessConfig(parts.config ?? {}),
    backend: buildBackendLimits(parts.config ?? {}),
    mcp: buildMcpLimits(parts.config ?? {}),
    llm: buildLlmLimits(parts.config ?? {}),
    wire: buildWireLimits(parts.frontendPolicies ?? {}),
    gateways,
    ui,
    places: context.places,
    warnings: [...context.warnings],
  }
}

/** All the way down through plain data; what has a class of its own looks after itself. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  Object.freeze(value)
  for (const part of Object.values(value)) freezeDeep(part)
  return value
}

// Which document of the texts is the configuration, and which are policy resources beside it.

const KIND = 'GatewayPolicy'

export interface ConfigDocuments {
  /** Undefined when there is none, which is a problem. */
  readonly main: ConfigSource | undefined
  readonly resources: readonly ConfigSource[]
}

/** `file` is told about when no document is found at all. */
function selectDocuments(
  sources: readonly ConfigSource[],
  file: string,
  problems: ConfigProblems,
): ConfigDocuments {
  const resources: ConfigSource[] = []
  let main: ConfigSource | undefined
  for (const source of sources) {
    if (isResource(source.data)) {
      const { kind } = source.data
      if (kind === KIND) resources.push(source)
      else problems.add(source.problemAt(['kind'], describeWrongKind(kind)))
    } else if (main === undefined) main = source
    else {
      const { file: other, line, column } = main.problemAt([], '')
      const message = `got a second configuration beside ${other}:${line}:${column}, expected one, and documents of kind ${KIND}`
      problems.add(source.problemAt([], message))
    }
  }
  if (main === undefined) {
    const message = 'got no configuration, expected at least gateways, mcp or llm'
    problems.add({ file, line: 1, column: 1, path: '', message })
  }
  return { main, resources }
}

/** A configuration has neither field. */
function isResource(data: unknown): data is { kind?: unknown } {
  return typeof data === 'object' && data !== null && ('kind' in data || 'apiVersion' in data)
}

function describeWrongKind(kind: unknown): string {
  if (kind === undefined) return 'kind is required'
  if (typeof kind !== 'string') return `expected '${KIND}'`
  const hint = nearest(kind, [KIND]) === undefined ? '' : `, did you mean '${KIND}'?`
  return `got '${kind}', expected '${KIND}'${hint}`
}

// What this version checks but does not do yet: a configuration that asks for it does not start.
// Each row goes when its behaviour comes.

/** Of a route and of the sections. */
const POLICIES = ['csrf', 'delay', 'requestMirror']

/** Paths by part; a star is any name or index. */
const ROWS: readonly string[] = [
  ...POLICIES.map((name) => `*.policies.${name}`),
  ...POLICIES.map((name) => `routes.*.policies.${name}`),
]

const NOT_ENFORCED = 'is checked but not enforced by this version'

/** Refuses everything in the document that a row names, the outermost only. */
function refuseUnenforced(data: unknown, told: ProblemReporter): void {
  const found = ROWS.flatMap((row) => findPaths(data, row.split('.'), []))
  const texts = new Set(found.map((path) => path.join('\0')))
  const isInside = (path: ConfigPath): boolean =>
    path.some((_, at) => at > 0 && texts.has(path.slice(0, at).join('\0')))
  for (const path of found)
    if (!isInside(path)) told.problem(path, `${NOT_ENFORCED}: remove it`, 'key')
}

function findPaths(data: unknown, row: readonly string[], path: ConfigPath): ConfigPath[] {
  const [name, ...rest] = row
  if (name === undefined) return [path]
  if (typeof data !== 'object' || data === null) return []
  const keys = name === '*' ? Object.keys(data) : Object.hasOwn(data, name) ? [name] : []
  return keys.flatMap((key) => {
    const step = Array.isArray(data) ? Number(key) : key
    return findPaths((data as Record<string, unknown>)[key], rest, [...path, step])
  })
}
