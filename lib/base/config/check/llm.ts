// `llm` → models that know their provider, most literal name first.

import { nearest } from '../../nearest-name.ts'
import type { Path } from '../error.ts'
import type { AiEntry, AiProvider, LlmConfig, LlmModel, VirtualModel } from '../llm-types.ts'
import type { LlmShape, ModelShape, ParamsShape, VirtualModelShape } from '../shape/llm.ts'
import type { BackendTlsConfig, Endpoint } from '../types.ts'
import { backendTlsOf, keyAuth, SYSTEM_TLS } from './backend-policies.ts'
import type { Context } from './context.ts'
import { orNull } from './policies.ts'

export function llmOf(context: Context, shape: LlmShape): LlmConfig {
  checkNames(context, ['llm', 'providers'], shape.providers)
  checkNames(context, ['llm', 'models'], shape.models)
  checkNames(context, ['llm', 'virtualModels'], shape.virtualModels, shape.models)
  const models = shape.models.map((model, at) =>
    modelOf(context, ['llm', 'models', at], model, shape),
  )
  return {
    models: models.toSorted((a, b) => literal(b.name) - literal(a.name)),
    virtualModels: shape.virtualModels.map((model, at) =>
      virtualOf(context, ['llm', 'virtualModels', at, 'routing'], model, models),
    ),
  }
}

function literal(name: string): number {
  return name.replace('*', '').length
}

interface Named {
  readonly name: string
}

function checkNames(
  context: Context,
  path: Path,
  list: readonly Named[],
  others: readonly Named[] = [],
): void {
  list.forEach(({ name }, at) => {
    const taken = [...others, ...list.slice(0, at)]
    if (taken.some((other) => other.name === name))
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

function modelOf(context: Context, path: Path, model: ModelShape, llm: LlmShape): LlmModel {
  const named = referenceOf(context, [...path, 'provider', 'reference'], model, llm)
  const written = named?.provider ?? ownProvider(model.provider)
  const params = merged(named?.params ?? NO_PARAMS, model.params ?? NO_PARAMS)
  const provider = providerOf(context, path, written, params)
  const where = whereOf(context, [...path, 'params'], provider, params)
  const tls = orNull(model.backendTLS, (one) => backendTlsOf(context, [...path, 'backendTLS'], one))
  return {
    name: model.name,
    visibility: model.visibility,
    entry: {
      name: named?.name ?? provider.kind,
      provider,
      ...where.entry,
      auth: params.apiKey === null ? null : keyAuth(params.apiKey),
      tls: tls ?? where.tls,
    },
    authorization: model.authorization ?? null,
    defaults: model.defaults,
    overrides: model.overrides,
    requestHeaders: model.requestHeaders ?? null,
    responseHeaders: model.responseHeaders ?? null,
  }
}

/** A reference that leads nowhere is told already. */
function ownProvider(provider: ProviderShape): ProviderShape {
  return typeof provider === 'object' && provider.custom === undefined ? 'mock' : provider
}

/** What a model says itself comes before what its provider says. */
function merged(base: ParamsShape, own: ParamsShape): ParamsShape {
  const set = Object.entries(own).filter(([, value]) => value != null)
  return { ...base, ...Object.fromEntries(set) }
}

function referenceOf(
  context: Context,
  path: Path,
  { provider }: ModelShape,
  { providers }: LlmShape,
): LlmShape['providers'][number] | undefined {
  if (typeof provider === 'string' || provider.reference === undefined) return undefined
  const found = providers.find(({ name }) => name === provider.reference)
  if (found === undefined) {
    const meant = nearest(
      provider.reference,
      providers.map(({ name }) => name),
    )
    const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
    context.problem(path, `unknown provider '${provider.reference}'${hint}`)
  }
  return found
}

function providerOf(
  context: Context,
  path: Path,
  provider: ProviderShape,
  params: ParamsShape,
): AiProvider {
  const { model } = params
  if (typeof provider === 'object') {
    const { formats = [], model: own = null } = provider.custom ?? {}
    return { kind: 'custom', formats, model: model ?? own }
  }
  const needs = (field: 'awsRegion' | 'azureResourceName' | 'azureResourceType'): string => {
    const value = params[field]
    if (value === null)
      context.problem([...path, 'params'], `${field} is required for provider ${provider}`)
    return value ?? ''
  }
  switch (provider) {
    case 'openai':
      return { kind: 'openAI', model }
    case 'bedrock':
      return { kind: 'bedrock', region: needs('awsRegion'), model }
    case 'azure':
      needs('azureResourceType')
      return {
        kind: 'azure',
        resourceName: needs('azureResourceName'),
        resourceType: params.azureResourceType ?? 'openAI',
        apiVersion: params.azureApiVersion,
        model,
      }
    default:
      return { kind: provider, model }
  }
}

type Where = Omit<AiEntry, 'name' | 'provider' | 'auth' | 'tls'>

/** `baseUrl` is host, TLS and path in one. */
function whereOf(
  context: Context,
  path: Path,
  { kind }: AiProvider,
  params: ParamsShape,
): { entry: Where; tls: BackendTlsConfig | null } {
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
      endpoint: url === null ? hostOverride : endpointOf(url, isSecure),
      pathOverride,
      pathPrefix: params.pathPrefix ?? (prefix === '' ? null : prefix),
    },
    tls: isSecure ? SYSTEM_TLS : null,
  }
}

function endpointOf(url: URL, isSecure: boolean): Endpoint {
  const host = url.hostname.replace(/^\[(.+)\]$/, '$1')
  return { kind: 'tcp', host, port: Number(url.port) || (isSecure ? 443 : 80) }
}

function virtualOf(
  context: Context,
  path: Path,
  { name, routing }: VirtualModelShape,
  models: readonly LlmModel[],
): VirtualModel {
  const { weighted, failover, conditional } = routing
  const kind = Object.keys(routing)[0]!
  const { targets } = (weighted ?? failover ?? conditional)!
  targets.forEach(({ model }, at) => {
    const wrong = targetProblem(model, models)
    if (wrong !== null) context.problem([...path, kind, 'targets', at, 'model'], wrong)
  })
  if (weighted !== undefined) return { name, routing: { kind: 'weighted', ...weighted } }
  if (failover !== undefined) return { name, routing: { kind: 'failover', ...failover } }
  return { name, routing: { kind: 'conditional', targets: conditional!.targets } }
}

/** Of a pattern alone, nobody knows which model to ask the provider for. */
function targetProblem(name: string, models: readonly LlmModel[]): string | null {
  const found = models.find((model) => model.name === name)
  if (found === undefined) {
    const names = models.map((model) => model.name)
    const meant = nearest(name, names)
    return `unknown model '${name}'${meant === undefined ? '' : `, did you mean '${meant}'?`}`
  }
  if (!name.includes('*') || found.entry.provider.model !== null) return null
  return `got the pattern '${name}', expected one model: add one for it to models, or set its params.model`
}
