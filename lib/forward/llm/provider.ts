// What differs between providers: where they are, what their paths look like, and how they want a key.

import type { AiEntry, AiProvider, LlmFormat } from '../../config/backend-types.ts'
import type { BackendAuthConfig, EndpointAddress } from '../../config/config-types.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { RequestHead } from '../../core/head.ts'
import type { Attempt, Backend } from '../../core/types.ts'
import { pathTailOf } from './llm-formats.ts'

/** The provider's own host, reached by TLS; null for those that have none. */
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

/** What a request asks for. */
export interface LlmRequestTarget {
  readonly format: LlmFormat
  /** The one the provider is to use; null when the request names none. */
  readonly model: string | null
  /** As the client wrote it. */
  readonly path: string
  readonly query: string
}

/** Path and query for the provider. */
export function buildProviderTarget(entry: AiEntry, asked: LlmRequestTarget): string {
  const { path, query } = buildProviderPath(entry, asked)
  const all = [asked.query, query].filter((part) => part !== '').join('&')
  return all === '' ? path : `${path}?${all}`
}

interface ProviderPath {
  readonly path: string
  readonly query: string
}

function buildProviderPath(entry: AiEntry, asked: LlmRequestTarget): ProviderPath {
  const { provider, pathOverride, pathPrefix } = entry
  const { format, path } = asked
  if (pathOverride !== null) return { path: pathOverride, query: '' }
  const tail = pathTailOf(format, path)
  if (provider.kind === 'custom') {
    if (!supportsFormat(provider, format))
      throw new GatewayError(
        'LLM_REQUEST',
        `failed to process LLM request: provider '${entry.name}' does not speak '${format}'`,
      )
    const spoken = provider.formats.find(({ type }) => type === format)
    if (spoken?.path != null) return { path: spoken.path, query: '' }
  }
  if (pathPrefix !== null) return { path: pathPrefix + tail, query: '' }
  // Whoever names a host knows its paths.
  if (entry.endpoint !== null) return { path, query: '' }
  return buildNativePath(provider, asked, tail)
}

/** Whether a provider has a path for it, as far as the configuration says. */
export function supportsFormat(provider: AiProvider, format: LlmFormat): boolean {
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

/** The client's own way to say it. */
const DEPLOYMENT = /^.*\/deployments\/[^/]+(?=\/)/i

/** With a version by date, the model is part of the path. */
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

/** Where providers look for keys. */
const KEY_HEADERS: readonly string[] = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'ocp-apim-subscription-key',
]
/** In small letters; they count in any. */
const KEY_PARAMETERS: ReadonlySet<string> = new Set([
  'key',
  'api-key',
  'api_key',
  'access_token',
  'subscription-key',
])
/** What else tells who a client is. */
const CLIENT_HEADERS: readonly string[] = ['proxy-authorization', 'cookie', 'x-amz-security-token']

const ALL_HEADERS: readonly string[] = [...KEY_HEADERS, ...CLIENT_HEADERS]

/** What pages send along, and Anthropic takes for a call from a browser. */
const PAGE_HEADERS = ['origin', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site']

const ANTHROPIC_VERSION = '2023-06-01'

/** Login tokens of Anthropic's are no keys. */
const ANTHROPIC_LOGIN = 'sk-ant-oat'

/** The head as the provider wants it: one key, under its own name, and the fields it insists on; `auth` has been added. */
function applyProviderHeaders(
  head: RequestHead,
  { kind }: AiProvider,
  auth: BackendAuthConfig | null,
): void {
  const isOurs = auth !== null && auth.kind !== 'passthrough'
  if (isOurs) keepOnlyCredential(head, auth)
  if (kind === 'anthropic') {
    for (const name of PAGE_HEADERS) head.remove(name)
    if (!head.has('anthropic-version')) head.add('anthropic-version', ANTHROPIC_VERSION)
    moveKey(head, 'x-api-key')
  } else if (isOurs && kind === 'azure') moveKey(head, 'api-key')
  else if (isOurs && kind === 'gemini' && head.path.includes(':')) moveKey(head, 'x-goog-api-key')
}

/** A client's placeholder, or the key for another provider, must not stand beside the one that counts. */
function keepOnlyCredential(
  head: RequestHead,
  { kind, name }: Exclude<BackendAuthConfig, { kind: 'passthrough' }>,
): void {
  // A header that no provider reads is for somebody in between, who wants it beside the client's key.
  const isKey = kind === 'query' ? KEY_PARAMETERS.has(name) : KEY_HEADERS.includes(name)
  if (!isKey) return
  for (const other of ALL_HEADERS) if (kind === 'query' || other !== name) head.remove(other)
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

/** The name of one, as servers read it. */
function parameterNameOf(part: string): string {
  const at = part.indexOf('=')
  const name = at < 0 ? part : part.slice(0, at)
  if (!/[%+?]/.test(name)) return name
  const [read = ''] = new URLSearchParams(part).keys()
  return read
}

const BEARER = /^bearer +(\S+)$/i

function moveKey(head: RequestHead, name: string): void {
  const key = BEARER.exec(head.get('authorization') ?? '')?.[1]
  if (key === undefined || head.has(name) || isLoginToken(key)) return
  head.remove('authorization')
  head.add(name, key)
}

/** A login's token, which stays where it is. */
function isLoginToken(key: string): boolean {
  return key.startsWith(ANTHROPIC_LOGIN) || key.split('.').length === 3
}

// The last step before a provider: behind every policy, its key under its own name and the fields it insists on.

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
