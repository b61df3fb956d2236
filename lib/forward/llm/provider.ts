// The differences between providers: their hosts, their paths and their header for the API key.

import type { AiEntry, AiProvider, LlmFormat } from '../../config/backend-types.ts'
import type { BackendAuthConfig, EndpointAddress } from '../../config/config-types.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import type { Attempt, Backend } from '../../core/types.ts'
import { pathTailOf } from './llm-formats.ts'

/** The public host of a provider, which uses TLS; null if it has none. */
export function providerEndpointOf(provider: AiProvider): EndpointAddress | null {
  const host = providerHostOf(provider)
  return host === null ? null : { kind: 'tcp', host, port: 443 }
}

function providerHostOf(provider: AiProvider): string | null {
  switch (provider.kind) {
    case 'openAI':
      return 'api.openai.com'
    case 'anthropic':
      return 'api.anthropic.com'
    case 'gemini':
      return 'generativelanguage.googleapis.com'
    case 'bedrock':
      return `bedrock-runtime.${provider.region}.amazonaws.com`
    case 'azure':
      return `${provider.resourceName}.${AZURE_DOMAINS[provider.resourceType]}`
    case 'custom':
    case 'mock':
      return null
  }
}

const AZURE_DOMAINS = {
  openAI: 'openai.azure.com',
  foundry: 'services.ai.azure.com',
  aiServices: 'cognitiveservices.azure.com',
} as const

/** The format, model, path and query of a request. */
export interface LlmRequestTarget {
  readonly format: LlmFormat
  /** The model for the provider; null if the request names none. */
  readonly model: string | null
  /** As the client sent it. */
  readonly path: string
  readonly query: string
}

/** The path and query of the request to the provider. */
export function buildProviderTarget(entry: AiEntry, target: LlmRequestTarget): string {
  const { path, query } = buildProviderPath(entry, target)
  const joined = [target.query, query].filter((part) => part !== '').join('&')
  return joined === '' ? path : `${path}?${joined}`
}

interface ProviderPath {
  readonly path: string
  readonly query: string
}

function buildProviderPath(entry: AiEntry, target: LlmRequestTarget): ProviderPath {
  const { provider, pathOverride, pathPrefix } = entry
  const { format, path } = target
  if (pathOverride === null && provider.kind === 'custom' && !supportsFormat(provider, format))
    throw createUnsupportedError(entry.name, format, provider.formats)
  const configured = configuredPathOf(entry, format)
  if (configured !== null) return { path: configured, query: '' }
  const tail = pathTailOf(format, path)
  if (pathPrefix !== null) return { path: pathPrefix + tail, query: '' }
  // A configured host gets the path of the client.
  if (entry.endpoint !== null) return { path, query: '' }
  return buildNativePath(provider, target, tail)
}

function createUnsupportedError(
  name: string,
  format: LlmFormat,
  supported: readonly { readonly type: LlmFormat }[],
): GatewayError {
  const asked = format === 'detect' ? 'this path' : `'${format}'`
  const known = supported.map(({ type }) => `'${type}'`).join(', ')
  const message = `provider '${name}' does not support ${asked}, only ${known}`
  return new GatewayError('LLM_REQUEST', `failed to process LLM request: ${message}`)
}

/** The configured path that replaces the client's; null if there is none. */
export function configuredPathOf(
  { provider, pathOverride }: AiEntry,
  format: LlmFormat,
): string | null {
  if (pathOverride !== null || provider.kind !== 'custom') return pathOverride
  return provider.formats.find(({ type }) => type === format)?.path ?? null
}

const MOCK_FORMATS: readonly LlmFormat[] = [
  'completions',
  'messages',
  'models',
  'anthropicTokenCount',
  'detect',
  'passthrough',
]

/** Whether a provider has a path for a format; besides the mock, only custom providers list their formats. */
export function supportsFormat(provider: AiProvider, format: LlmFormat): boolean {
  if (provider.kind === 'mock') return MOCK_FORMATS.includes(format)
  if (provider.kind !== 'custom') return true
  return provider.formats.some(({ type }) => type === format || type === 'detect')
}

function buildNativePath(
  provider: AiProvider,
  { format, path, model }: LlmRequestTarget,
  tail: string,
): ProviderPath {
  switch (provider.kind) {
    case 'openAI':
    case 'anthropic':
      return { path: `/v1${tail}`, query: '' }
    case 'gemini':
      return { path: isNativeFormat(format) ? path : `/v1beta/openai${tail}`, query: '' }
    case 'bedrock':
      return { path: format === 'completions' ? `/openai/v1${tail}` : path, query: '' }
    case 'azure':
      return buildAzurePath(provider, tail.replace(DEPLOYMENT, ''), model)
    default:
      return { path, query: '' }
  }
}

function isNativeFormat(format: LlmFormat): boolean {
  return format === 'generateContent' || format === 'geminiCountTokens'
}

/** The part of an Azure path that names the model. */
const DEPLOYMENT = /^.*\/deployments\/[^/]+(?=\/)/i

/** With an API version that is a date, the path has the model. */
function buildAzurePath(
  { apiVersion }: Extract<AiProvider, { kind: 'azure' }>,
  tail: string,
  model: string | null,
): ProviderPath {
  if (apiVersion === null || apiVersion === 'v1') return { path: `/openai/v1${tail}`, query: '' }
  if (model === null)
    throw new GatewayError('MODEL_MISSING', 'failed to process LLM request: the model is missing')
  const deployment = encodeURIComponent(model)
  return {
    path: `/openai/deployments/${deployment}${tail}`,
    query: `api-version=${encodeURIComponent(apiVersion)}`,
  }
}

/** Headers in which providers accept an API key. */
const KEY_HEADERS: readonly string[] = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'ocp-apim-subscription-key',
]
/** In lower case; they are compared case-insensitively. */
const KEY_PARAMETERS: ReadonlySet<string> = new Set([
  'key',
  'api-key',
  'api_key',
  'access_token',
  'subscription-key',
])
/** Other headers with credentials of the client. */
const CLIENT_HEADERS: readonly string[] = ['proxy-authorization', 'cookie', 'x-amz-security-token']

const CREDENTIAL_HEADERS: readonly string[] = [...KEY_HEADERS, ...CLIENT_HEADERS]

/** Anthropic treats a request with these as a call from a browser. */
const BROWSER_HEADERS = ['origin', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site']

const ANTHROPIC_VERSION = '2023-06-01'

/** The prefix of Anthropic's login tokens, which are not API keys. */
const ANTHROPIC_LOGIN = 'sk-ant-oat'

/** Keeps one API key, moves it to the header of the provider and adds required fields. `auth` was already applied. */
function applyProviderHeaders(
  head: RequestHead,
  { kind }: AiProvider,
  auth: BackendAuthConfig | null,
): void {
  const isConfigured = auth !== null && auth.kind !== 'passthrough'
  if (isConfigured) keepOnlyCredential(head, auth)
  if (kind === 'anthropic') {
    for (const name of BROWSER_HEADERS) head.remove(name)
    if (!head.has('anthropic-version')) head.add('anthropic-version', ANTHROPIC_VERSION)
    moveKey(head, 'x-api-key')
  } else if (isConfigured && kind === 'azure') moveKey(head, 'api-key')
  else if (isConfigured && kind === 'gemini' && head.path.includes(':'))
    moveKey(head, 'x-goog-api-key')
}

/** Removes credentials of the client, such as a placeholder or the key of another provider. */
function keepOnlyCredential(
  head: RequestHead,
  { kind, name }: Exclude<BackendAuthConfig, { kind: 'passthrough' }>,
): void {
  // A header that no provider reads is for a proxy in between, so the client's key stays.
  const isKey = kind === 'query' ? KEY_PARAMETERS.has(name) : KEY_HEADERS.includes(name)
  if (!isKey) return
  for (const other of CREDENTIAL_HEADERS) if (kind === 'query' || other !== name) head.remove(other)
  removeKeyParameters(head, kind === 'query' ? name : null)
}

function removeKeyParameters(head: RequestHead, except: string | null): void {
  const { query } = head
  if (query === '') return
  const parts = query.split('&')
  const kept = parts.filter((part) => {
    const name = parameterNameOf(part)
    return name === except || !KEY_PARAMETERS.has(name.toLowerCase())
  })
  if (kept.length === parts.length) return
  head.target = kept.length === 0 ? head.path : `${head.path}?${kept.join('&')}`
}

/** The decoded name of a query parameter. */
function parameterNameOf(part: string): string {
  const at = part.indexOf('=')
  const name = at < 0 ? part : part.slice(0, at)
  if (!/[%+?]/.test(name)) return name
  const [decoded = ''] = new URLSearchParams(part).keys()
  return decoded
}

const BEARER = /^bearer +(\S+)$/i

function moveKey(head: RequestHead, name: string): void {
  const key = BEARER.exec(head.get('authorization') ?? '')?.[1]
  if (key === undefined || head.has(name) || isLoginToken(key)) return
  head.remove('authorization')
  head.add(name, key)
}

/** Login tokens, such as JWTs, stay in `authorization`. */
function isLoginToken(key: string): boolean {
  return key.startsWith(ANTHROPIC_LOGIN) || key.split('.').length === 3
}

/** Sets the headers of the provider after all policies have run, and calls its backend. */
export class ProviderBackend implements Backend {
  readonly endpoint: string
  readonly #backend: Backend
  readonly #provider: AiProvider
  readonly #auth: BackendAuthConfig | null

  constructor(backend: Backend, provider: AiProvider, auth: BackendAuthConfig | null) {
    this.endpoint = backend.endpoint
    this.#backend = backend
    this.#provider = provider
    this.#auth = auth
  }

  call(exchange: Exchange, attempt: Attempt): void {
    applyProviderHeaders(exchange.request, this.#provider, this.#auth)
    this.#backend.call(exchange, attempt)
  }
}
