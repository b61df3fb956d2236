// Loads a configuration in three steps: parse YAML with variables, check the shape, check the parts against each other.

import { resolve } from 'node:path'
import { nearest } from '../text/nearest-name.ts'
import { checkNamedBackends } from './check/check-backends.ts'
import { CheckContext } from './check/check-context.ts'
import { checkGateways, checkPorts } from './check/check-gateways.ts'
import {
  buildBackendLimits,
  buildLlmLimits,
  buildMcpLimits,
  buildProcessConfig,
  buildWireLimits,
} from './check/check-process.ts'
import { checkRoutes, warnAboutUnmatchedPaths } from './check/check-routes.ts'
import { checkSections } from './check/check-sections.ts'
import { checkUi } from './check/check-ui.ts'
import { ConfigError, ConfigProblems } from './config-error.ts'
import type { ConfigPath } from './config-error.ts'
import { readConfigInputs } from './config-files.ts'
import type { ConfigInputs, ReadStdin } from './config-files.ts'
import type { Config } from './config-types.ts'
import { attachResources } from './policy-resources.ts'
import type { ResourceTargets } from './policy-resources.ts'
import { describeIssue, reportIssues } from './problem-texts.ts'
import type { ProblemReporter } from './problem-texts.ts'
import { CONFIG_DOCUMENT, splitConfigParts } from './shape/document-shapes.ts'
import type { ConfigParts, TargetRef } from './shape/document-shapes.ts'
import { parseSources } from './yaml-source.ts'
import type { ConfigSource } from './yaml-source.ts'
import type { EnvironmentVariables } from './expand-variables.ts'

/** Loads files, folders of files, or `-` for standard input. Throws a ConfigError with all problems. */
export function loadConfig(
  inputs: readonly string[],
  env: EnvironmentVariables = process.env,
  readInput?: ReadStdin,
): Config {
  const problems = new ConfigProblems()
  const read = readConfigInputs(inputs, problems, readInput)
  problems.throwIfAny()
  return buildConfig(read, new Map(), { env })
}

/** The source texts of a configuration, which contain secrets; another process can build the same configuration from them. */
export interface ConfigTexts {
  readonly inputs: ConfigInputs
  /** Texts of the files that the configuration refers to, by absolute path. Workers of another version read this name. */
  readonly named: readonly (readonly [string, string])[]
}

/** Stored outside Config, so that no dump of a Config shows the texts. */
const TEXTS_BY_CONFIG = new WeakMap<Config, ConfigTexts>()

export function configTextsOf(config: Config): ConfigTexts {
  const texts = TEXTS_BY_CONFIG.get(config)
  if (texts === undefined) throw new Error('this configuration was not loaded from texts')
  return texts
}

/** Builds a configuration from texts that were read before, without reading files again. */
export function loadFromTexts(
  { inputs, named }: ConfigTexts,
  env: EnvironmentVariables = process.env,
): Config {
  return buildConfig(inputs, new Map(named), { env })
}

export interface ConfigParseOptions {
  /** File name in messages; relative paths in the text start from its folder. */
  readonly file: string
  readonly env?: EnvironmentVariables
  /** `allowed` accepts policies that are checked but not enforced, for specs of the checks. */
  readonly unenforced?: UnenforcedPolicies
}

type UnenforcedPolicies = 'refused' | 'allowed'

export function parseConfig(text: string, options: ConfigParseOptions): Config {
  const { file, env = process.env, unenforced } = options
  const inputs = { texts: [{ file, text }], files: [], folders: [] }
  return buildConfig(inputs, new Map(), { env, unenforced })
}

interface ConfigBuildOptions {
  readonly env: EnvironmentVariables
  readonly unenforced?: UnenforcedPolicies | undefined
}

/** `namedFiles` contains texts that were read before; files that are read now are added. */
function buildConfig(
  inputs: ConfigInputs,
  namedFiles: Map<string, string>,
  { env, unenforced = 'refused' }: ConfigBuildOptions,
): Config {
  const { texts, files, folders } = inputs
  const problems = new ConfigProblems()
  const sources = texts.flatMap(({ text, file }) => readSources(text, file, env, problems))
  problems.throwIfAny()
  const { main, resources } = selectDocuments(sources, texts[0]?.file ?? '', problems)
  const context = main === undefined ? undefined : new CheckContext(main, problems, namedFiles)
  const draft = context === undefined ? undefined : checkMainDocument(context, problems, unenforced)
  problems.throwIfAny()
  const { namespacedKinds, ...checked } = draft!
  const { file: mainFile, files: referredFiles, gateways } = checked
  const otherFiles = files.filter((file) => file !== resolve(mainFile))
  const config = freezeDeep({
    ...checked,
    files: [...otherFiles, ...referredFiles],
    folders,
    resources: attachResources(resources, { gateways, namespacedKinds }),
  })
  TEXTS_BY_CONFIG.set(config, { inputs, named: [...namedFiles] })
  return config
}

/** Returns no documents for a file with problems. */
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

interface ConfigDraft extends Omit<Config, 'resources' | 'gateways'>, ResourceTargets {}

function checkMainDocument(
  context: CheckContext,
  problems: ConfigProblems,
  unenforced: UnenforcedPolicies,
): ConfigDraft {
  const { source } = context
  const document = CONFIG_DOCUMENT.safeParse(source.data, { error: describeIssue })
  if (!document.success) reportIssues(context, document.error.issues)
  const parts = splitConfigParts(source.data)
  const namedGateways = checkGateways(context, parts.gateways)
  const targets = { gateways: namedGateways, names: [...parts.gateways.keys()] }
  checkRoutes(context, parts.routes, targets, checkNamedBackends(context, parts))
  const sectionGateways = checkSections(context, parts, targets)
  checkPorts(context, [
    ...namedGateways.map(({ name, port }) => ({ port, path: ['gateways', name] })),
    ...sectionGateways.map(({ name, port }) => ({ port, path: [name] })),
  ])
  const gateways = [...namedGateways, ...sectionGateways]
  if (document.success && gateways.length === 0)
    context.problem([], 'got no gateways, expected at least one: nothing would listen')
  const ui = checkUi(context, parts.ui, targets)
  for (const { name, listeners } of namedGateways)
    if (listeners.every(({ key, routes }) => routes.length === 0 && !ui?.listeners.includes(key)))
      context.warn(['gateways', name], 'has no routes: every request gets 404')
  const wire = buildWireLimits(parts.frontendPolicies ?? {})
  warnAboutUnmatchedPaths(context, parts.routes, wire.normalizePath)
  problems.throwIfAny()
  if (unenforced === 'refused') refuseUnenforced(source.data, context)
  return {
    file: source.file,
    files: [...context.files],
    folders: [],
    process: buildProcessConfig(parts.config ?? {}),
    backend: buildBackendLimits(parts.config ?? {}),
    mcp: buildMcpLimits(parts.config ?? {}),
    llm: buildLlmLimits(parts.config ?? {}),
    wire,
    gateways,
    namespacedKinds: findNamespacedKinds(parts),
    ui,
    places: context.places,
    warnings: [...context.warnings],
  }
}

function findNamespacedKinds({
  routes,
  gateways,
}: ConfigParts): ResourceTargets['namespacedKinds'] {
  const setsNamespace = (shape: { readonly namespace?: unknown } | undefined): boolean =>
    shape?.namespace !== undefined
  const kinds = new Set<TargetRef['kind']>()
  if (routes.some(setsNamespace)) kinds.add('HTTPRoute')
  if ([...gateways.values()].some(setsNamespace)) kinds.add('Gateway')
  return kinds
}

/** Freezes plain objects and arrays recursively; instances of classes are left as they are. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  Object.freeze(value)
  for (const part of Object.values(value)) freezeDeep(part)
  return value
}

const RESOURCE_KIND = 'GatewayPolicy'

interface ConfigDocuments {
  /** Undefined when no document is a configuration, which is reported as a problem. */
  readonly main: ConfigSource | undefined
  readonly resources: readonly ConfigSource[]
}

/** Separates the configuration from policy resources; `file` is reported when there is no configuration. */
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
      if (kind === RESOURCE_KIND) resources.push(source)
      else problems.add(source.problemAt(['kind'], describeWrongKind(kind)))
    } else if (main === undefined) main = source
    else {
      const { file: other, line, column } = main.problemAt([], '')
      const message = `got a second configuration after ${other}:${line}:${column}, expected one, and documents of kind ${RESOURCE_KIND}`
      problems.add(source.problemAt([], message))
    }
  }
  if (main === undefined) {
    const message = 'got no configuration, expected at least gateways, mcp or llm'
    problems.add({ file, line: 1, column: 1, path: '', message })
  }
  return { main, resources }
}

/** A policy resource has a kind or an apiVersion, a configuration has neither. */
function isResource(data: unknown): data is { kind?: unknown } {
  return typeof data === 'object' && data !== null && ('kind' in data || 'apiVersion' in data)
}

function describeWrongKind(kind: unknown): string {
  if (kind === undefined) return 'kind is required'
  if (typeof kind !== 'string') return `expected '${RESOURCE_KIND}'`
  const hint =
    nearest(kind, [RESOURCE_KIND]) === undefined ? '' : `, did you mean '${RESOURCE_KIND}'?`
  return `got '${kind}', expected '${RESOURCE_KIND}'${hint}`
}

/** Policies that this version checks but does not enforce: a configuration with one of them is refused. */
const UNENFORCED_POLICIES = ['csrf', 'delay', 'requestMirror']

/** Config paths; `*` matches any name or index. */
const UNENFORCED_PATHS: readonly string[] = [
  ...UNENFORCED_POLICIES.map((name) => `*.policies.${name}`),
  ...UNENFORCED_POLICIES.map((name) => `routes.*.policies.${name}`),
]

const NOT_ENFORCED = 'is checked but not enforced by this version'

/** Refuses each unenforced setting of the document; a setting inside another one is not reported. */
function refuseUnenforced(data: unknown, reporter: ProblemReporter): void {
  const found = UNENFORCED_PATHS.flatMap((pattern) => findPaths(data, pattern.split('.'), []))
  const texts = new Set(found.map((path) => path.join('\0')))
  const isInside = (path: ConfigPath): boolean =>
    path.some((_, at) => at > 0 && texts.has(path.slice(0, at).join('\0')))
  for (const path of found)
    if (!isInside(path)) reporter.problem(path, `${NOT_ENFORCED}: remove it`, 'key')
}

function findPaths(data: unknown, pattern: readonly string[], path: ConfigPath): ConfigPath[] {
  const [name, ...rest] = pattern
  if (name === undefined) return [path]
  if (typeof data !== 'object' || data === null) return []
  const keys = name === '*' ? Object.keys(data) : Object.hasOwn(data, name) ? [name] : []
  return keys.flatMap((key) => {
    const step = Array.isArray(data) ? Number(key) : key
    return findPaths((data as Record<string, unknown>)[key], rest, [...path, step])
  })
}
