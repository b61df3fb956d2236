// Client registration (RFC 7591): forwarded to the provider, or answered with the operator's preregistered client.

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { hostOfAuthority, isLoopback } from '../../core/addresses.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Reply } from '../../core/types.ts'
import { readWholeBody } from '../../http/read-whole-body.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type { DiscoveryDocuments } from './discovery.ts'
import {
  createOAuthErrorReply,
  createProviderFailedReply,
  createJsonReply,
} from './provider-requests.ts'
import type { ProviderCalls } from './provider-requests.ts'
import type { IdentityProvider } from './providers.ts'

/** A registration has names, redirect URIs and perhaps a logo. */
const MAX_REGISTRATION_BYTES = 65_536

const GRANT_TYPES = ['authorization_code', 'refresh_token']
const RESPONSE_TYPES = ['code']

export interface RegistrationContext {
  readonly provider: IdentityProvider
  readonly documents: DiscoveryDocuments
  readonly calls: ProviderCalls
  /** The gateway's own registration URL. */
  readonly url: string
}

export async function registerClient(
  exchange: Exchange,
  config: McpAuthenticationConfig,
  { provider, documents, calls, url: ownUrl }: RegistrationContext,
): Promise<Reply> {
  const bytes = await readWholeBody(exchange, MAX_REGISTRATION_BYTES)
  if (bytes === null) {
    const description = `the registration has more than ${MAX_REGISTRATION_BYTES} bytes`
    return createOAuthErrorReply(413, 'invalid_client_metadata', description)
  }
  if (config.clientId !== null) return answerWithOperatorClient(bytes.toString(), config, ownUrl)
  const fetched = await documents.findFirst(provider.discoveryUrls(config.issuer))
  if (typeof fetched === 'string') return createProviderFailedReply(fetched)
  const url = provider.registrationUrl(fetched, config.issuer)
  if (url === null)
    return createOAuthErrorReply(
      400,
      'invalid_request',
      'the identity provider has no client registration: set clientId in mcpAuthentication',
    )
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return calls.post('client registration', { url, headers, body: bytes })
}

/** Returns the operator's client for a read request; null when the path names another client. */
export function createClientReply(
  path: string,
  config: McpAuthenticationConfig,
  ownUrl: string,
): Reply | null {
  const { clientId } = config
  if (clientId === null || !path.endsWith(`/${encodeURIComponent(clientId)}`)) return null
  return createJsonReply(200, describeOperatorClient(config, {}, ownUrl))
}

/** Returns the operator's client to every caller: its id, never its secret. */
function answerWithOperatorClient(
  text: string,
  config: McpAuthenticationConfig,
  ownUrl: string,
): Reply {
  const requested = parseJsonObject(text)
  if (requested === null)
    return createOAuthErrorReply(
      400,
      'invalid_client_metadata',
      'the registration is not a JSON object',
    )
  const { redirect_uris: uris, grant_types: grants, response_types: types } = requested
  if (![uris, grants, types].every((list) => list === undefined || isTextList(list)))
    return createOAuthErrorReply(
      400,
      'invalid_client_metadata',
      'redirect_uris, grant_types and response_types must be lists of strings',
    )
  if (isTextList(uris) && !uris.every(isAllowedRedirectUri))
    return createOAuthErrorReply(
      400,
      'invalid_redirect_uri',
      'a redirect URI must be https, loopback or of an app scheme',
    )
  return createJsonReply(201, describeOperatorClient(config, requested, ownUrl))
}

function describeOperatorClient(
  config: McpAuthenticationConfig,
  requested: Readonly<Record<string, unknown>>,
  ownUrl: string,
): Record<string, unknown> {
  const clientId = config.clientId ?? ''
  const scopes = config.resourceMetadata.scopesSupported
  return {
    client_id: clientId,
    client_id_issued_at: 0,
    token_endpoint_auth_method: 'none',
    grant_types: requested['grant_types'] ?? GRANT_TYPES,
    response_types: requested['response_types'] ?? RESPONSE_TYPES,
    redirect_uris: requested['redirect_uris'] ?? [],
    ...(typeof requested['client_name'] === 'string'
      ? { client_name: requested['client_name'] }
      : {}),
    ...(scopes === null ? {} : { scope: scopes.join(' ') }),
    // Some clients do not proceed without it.
    registration_client_uri: `${ownUrl}/${encodeURIComponent(clientId)}`,
  }
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** Schemes that browsers execute, display or fetch themselves, and that no app can own. */
const BROWSER_SCHEMES = new Set([
  'about:',
  'blob:',
  'chrome:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'intent:',
  'javascript:',
  'resource:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
])

/** Tested on the raw text: parsers drop unprintable characters, and would accept another URI than the one displayed. */
const PRINTABLE_URI = /^[!-"$-~]+$/

/** An app scheme is followed by two slashes, or is a reversed domain name (RFC 8252 7.1). */
const APP_URI = /^(?:[a-z][a-z\d+.-]*:\/\/|[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:)/i

/** Allows redirect URIs over TLS, on the loopback interface, or with an app scheme. */
export function isAllowedRedirectUri(uri: string): boolean {
  if (!PRINTABLE_URI.test(uri) || !URL.canParse(uri)) return false
  const { protocol, host, username, password } = new URL(uri)
  if (username !== '' || password !== '' || BROWSER_SCHEMES.has(protocol)) return false
  if (protocol === 'https:') return true
  return protocol === 'http:' ? isLoopback(hostOfAuthority(host)) : APP_URI.test(uri)
}
