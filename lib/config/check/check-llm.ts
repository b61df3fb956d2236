// Checks the section `llm` with its models and providers, `ai` backends, and unused `ai` policies.

import { nearest } from '../../text/nearest-name.ts'
import type {
  AiConfig,
  AiEntry,
  AiPolicyConfig,
  AiProvider,
  LlmConfig,
  LlmModel,
  VirtualModel,
} from '../backend-types.ts'
import type { ConfigPath } from '../config-error.ts'
import type { BackendTlsConfig, EndpointAddress } from '../config-types.ts'
import type { LlmShape, ModelShape, ParamsShape, VirtualModelShape } from '../shape/llm-shapes.ts'
import {
  buildBackendAuth,
  buildKeyAuth,
  checkBackendTls,
  SYSTEM_TLS,
} from './check-backend-policies.ts'
import type { CheckContext } from './check-context.ts'
import { mapOrNull } from './check-policies.ts'
import type { AiShape } from '../shape/ai-shapes.ts'

export function checkLlm(context: CheckContext, shape: LlmShape): LlmConfig {
  checkNames(context, ['llm', 'providers'], shape.providers)
  checkNames(context, ['llm', 'models'], shape.models)
  checkNames(context, ['llm', 'virtualModels'], shape.virtualModels, shape.models)
  const models = shape.models.map((model, at) =>
    checkModel(context, ['llm', 'models', at], model, shape),
  )
  return {
    models: models.toSorted((a, b) => literalLengthOf(b.name) - literalLengthOf(a.name)),
    virtualModels: shape.virtualModels.map((model, at) =>
      checkVirtualModel(context, ['llm', 'virtualModels', at, 'routing'], model, models),
    ),
  }
}

function literalLengthOf(name: string): number {
  return name.replace('*', '').length
}

interface NamedEntry {
  readonly name: string
}

function checkNames(
  context: CheckContext,
  path: ConfigPath,
  list: readonly NamedEntry[],
  others: readonly NamedEntry[] = [],
): void {
  list.forEach(({ name }, at) => {
    const previous = [...others, ...list.slice(0, at)]
    if (previous.some((other) => other.name === name))
      context.problem(
        [...path, at, 'name'],
        `got '${name}' a second time, expected names to differ`,
      )
  })
}

type ProviderShape = ModelShape['provider']

const NO_PARAMS: ParamsShape = {
  model: null,
  apiKey: null,
  baseUrl: null,
  awsRegion: null,
  azureResourceName: null,
  azureResourceType: null,
  azureApiVersion: null,
  hostOverride: null,
  pathOverride: null,
  pathPrefix: null,
}

function checkModel(
  context: CheckContext,
  path: ConfigPath,
  model: ModelShape,
  llm: LlmShape,
): LlmModel {
  const named = resolveProviderReference(context, [...path, 'provider', 'reference'], model, llm)
  const providerShape = named?.provider ?? dropUnresolvedReference(model.provider)
  const params = mergeParams(named?.params ?? NO_PARAMS, model.params ?? NO_PARAMS)
  const provider = buildProvider(context, path, providerShape, params)
  const location = buildProviderLocation(context, [...path, 'params'], provider, params)
  const tls = mapOrNull(model.backendTLS, (one) =>
    checkBackendTls(context, [...path, 'backendTLS'], one),
  )
  return {
    name: model.name,
    visibility: model.visibility,
    entry: {
      name: named?.name ?? provider.kind,
      provider,
      ...location.entry,
      auth: params.apiKey === null ? null : buildKeyAuth(params.apiKey),
      tls: tls ?? location.tls,
    },
    authorization: model.authorization ?? null,
    defaults: model.defaults,
    overrides: model.overrides,
    requestHeaders: model.requestHeaders ?? null,
    responseHeaders: model.responseHeaders ?? null,
  }
}

/** Replaces an unresolved reference by `mock`; the problem is already reported. */
function dropUnresolvedReference(provider: ProviderShape): ProviderShape {
  return typeof provider === 'object' && provider.custom === undefined ? 'mock' : provider
}

/** Params of a model override those of its provider. */
function mergeParams(base: ParamsShape, own: ParamsShape): ParamsShape {
  const set = Object.entries(own).filter(([, value]) => value != null)
  return { ...base, ...Object.fromEntries(set) }
}

function resolveProviderReference(
  context: CheckContext,
  path: ConfigPath,
  { provider }: ModelShape,
  { providers }: LlmShape,
): LlmShape['providers'][number] | undefined {
  if (typeof provider === 'string' || provider.reference === undefined) return undefined
  const found = providers.find(({ name }) => name === provider.reference)
  if (found === undefined) {
    const suggestion = nearest(
      provider.reference,
      providers.map(({ name }) => name),
    )
    const hint = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`
    context.problem(path, `unknown provider '${provider.reference}'${hint}`)
  }
  return found
}

function buildProvider(
  context: CheckContext,
  path: ConfigPath,
  provider: ProviderShape,
  params: ParamsShape,
): AiProvider {
  const { model } = params
  if (typeof provider === 'object') {
    const { formats = [], model: customModel = null } = provider.custom ?? {}
    return { kind: 'custom', formats, model: model ?? customModel }
  }
  const requireParam = (field: 'awsRegion' | 'azureResourceName' | 'azureResourceType'): string => {
    const value = params[field]
    if (value === null)
      context.problem([...path, 'params'], `${field} is required for provider ${provider}`)
    return value ?? ''
  }
  switch (provider) {
    case 'openai':
      return { kind: 'openAI', model }
    case 'bedrock':
      return { kind: 'bedrock', region: requireParam('awsRegion'), model }
    case 'azure':
      requireParam('azureResourceType')
      return {
        kind: 'azure',
        resourceName: requireParam('azureResourceName'),
        resourceType: params.azureResourceType ?? 'openAI',
        apiVersion: params.azureApiVersion,
        model,
      }
    default:
      return { kind: provider, model }
  }
}

type ProviderLocation = Omit<AiEntry, 'name' | 'provider' | 'auth' | 'tls'>

/** `baseUrl` sets host, TLS and path prefix. */
function buildProviderLocation(
  context: CheckContext,
  path: ConfigPath,
  { kind }: AiProvider,
  params: ParamsShape,
): { entry: ProviderLocation; tls: BackendTlsConfig | null } {
  const { baseUrl, hostOverride, pathOverride } = params
  const fail = (message: string): void => context.problem(path, message)
  if (baseUrl !== null && hostOverride !== null)
    fail('got baseUrl and hostOverride, expected one of them')
  if (pathOverride !== null && params.pathPrefix !== null)
    fail('got pathOverride and pathPrefix, expected one of them')
  if (kind === 'custom' && baseUrl === null && hostOverride === null)
    fail('got a custom provider without a host, expected baseUrl or hostOverride')
  const url = baseUrl === null ? null : new URL(baseUrl)
  const isSecure = url?.protocol === 'https:'
  const prefix = url?.pathname.replace(/\/+$/, '') ?? ''
  return {
    entry: {
      endpoint: url === null ? hostOverride : buildProviderEndpoint(url, isSecure),
      pathOverride,
      pathPrefix: params.pathPrefix ?? (prefix === '' ? null : prefix),
    },
    tls: isSecure ? SYSTEM_TLS : null,
  }
}

function buildProviderEndpoint(url: URL, isSecure: boolean): EndpointAddress {
  const host = url.hostname.replace(/^\[(.+)\]$/, '$1')
  return { kind: 'tcp', host, port: Number(url.port) || (isSecure ? 443 : 80) }
}

function checkVirtualModel(
  context: CheckContext,
  path: ConfigPath,
  { name, routing }: VirtualModelShape,
  models: readonly LlmModel[],
): VirtualModel {
  const { weighted, failover, conditional } = routing
  const kind = Object.keys(routing)[0]!
  const { targets } = (weighted ?? failover ?? conditional)!
  targets.forEach(({ model }, at) => {
    const problem = describeTargetProblem(model, models)
    if (problem !== null) context.problem([...path, kind, 'targets', at, 'model'], problem)
  })
  if (weighted !== undefined) return { name, routing: { kind: 'weighted', ...weighted } }
  if (failover !== undefined) return { name, routing: { kind: 'failover', ...failover } }
  return { name, routing: { kind: 'conditional', targets: conditional!.targets } }
}

/** A pattern cannot be a target unless it sets params.model: the model for the provider would be unknown. */
function describeTargetProblem(name: string, models: readonly LlmModel[]): string | null {
  const found = models.find((model) => model.name === name)
  if (found === undefined) {
    const names = models.map((model) => model.name)
    const suggestion = nearest(name, names)
    const hint = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`
    return `unknown model '${name}'${hint}`
  }
  if (!name.includes('*') || found.entry.provider.model !== null) return null
  return `got the pattern '${name}', expected one model: add the model to models, or set params.model of the pattern`
}

type EntryShape = Extract<AiShape, { provider: unknown }>

export function checkAiBackend(context: CheckContext, path: ConfigPath, shape: AiShape): AiConfig {
  if (!('groups' in shape)) return { groups: [[checkAiEntry(context, path, shape)]] }
  return {
    groups: shape.groups.map(({ providers }, group) =>
      providers.map((one, at) =>
        checkAiEntry(context, [...path, 'groups', group, 'providers', at], one),
      ),
    ),
  }
}

function checkAiEntry(context: CheckContext, path: ConfigPath, shape: EntryShape): AiEntry {
  const { name, provider, hostOverride: endpoint, pathOverride, pathPrefix } = shape
  const { backendAuth, backendTLS } = shape.policies ?? {}
  return {
    name,
    provider,
    endpoint,
    pathOverride,
    pathPrefix,
    auth: backendAuth === undefined ? null : buildBackendAuth(backendAuth),
    tls:
      backendTLS === undefined
        ? null
        : checkBackendTls(context, [...path, 'policies', 'backendTLS'], backendTLS),
  }
}

const UNUSED_AI_FIELDS = {
  llm: {
    fields: ['modelAliases'],
    reason: 'expected none: clients use the names of models and virtualModels',
  },
  others: {
    fields: ['modelAliases', 'defaults', 'overrides'],
    reason: 'expected an ai backend: bodies for other backends are not changed',
  },
} as const

/** Refuses fields of the `ai` policy that this kind of backend does not use. */
export function refuseUnusedAiPolicy(
  context: CheckContext,
  path: ConfigPath,
  policy: AiPolicyConfig | null,
  kind: keyof typeof UNUSED_AI_FIELDS,
): void {
  if (policy === null) return
  const { fields, reason } = UNUSED_AI_FIELDS[kind]
  for (const name of fields)
    if (Object.keys(policy[name]).length > 0)
      context.problem([...path, name], `got ${name}, ${reason}`, 'key')
}
