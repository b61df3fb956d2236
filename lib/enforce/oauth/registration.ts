// Client registration (RFC 7591): handed to the provider, or answered with the client that the operator registered.

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { hostOfAuthority, isLoopback } from '../../core/addresses.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Reply } from '../../core/types.ts'
import { readWholeBody } from '../../http/read-whole-body.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type { DiscoveryDocuments } from './discovery.ts'
import {
  createOAuthErrorReply,
  createProviderDownReply,
  createPublicJsonReply,
} from './provider-requests.ts'
import type { ProviderCalls } from './provider-requests.ts'
import type { IdentityProvider } from './providers.ts'

/** Names, redirect URIs, perhaps a logo. */
const MAX_REGISTRATION_BYTES = 65_536

const GRANT_TYPES = ['authorization_code', 'refresh_token']
const RESPONSE_TYPES = ['code']

export interface RegistrationContext {
  readonly provider: IdentityProvider
  readonly documents: DiscoveryDocuments
  readonly calls: ProviderCalls
  /** Where this is. */
  readonly url: string
}

export async function registerClient(
  exchange: Exchange,
  config: McpAuthenticationConfig,
  { provider, documents, calls, url: own }: RegistrationContext,
): Promise<Reply> {
  const bytes = await readWholeBody(exchange, MAX_REGISTRATION_BYTES)
  if (bytes === null) {
    const bound = `the registration has more than ${MAX_REGISTRATION_BYTES} bytes`
    return createOAuthErrorReply(413, 'invalid_client_metadata', bound)
  }
  if (config.clientId !== null) return answerWithOperatorClient(bytes.toString(), config, own)
  const found = await documents.findFirst(provider.discoveryUrls(config.issuer))
  if (typeof found === 'string') return createProviderDownReply(found)
  const url = provider.registrationUrl(found, config.issuer)
  if (url === null)
    return createOAuthErrorReply(
      400,
      'invalid_request',
      'the identity provider registers no clients: set clientId in mcpAuthentication',
    )
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return calls.post('client registration', { url, headers, body: bytes })
}

/** What can be read again of the operator's client; null where a path names another. */
export function createClientReply(
  path: string,
  config: McpAuthenticationConfig,
  own: string,
): Reply | null {
  const { clientId } = config
  if (clientId === null || !path.endsWith(`/${encodeURIComponent(clientId)}`)) return null
  return createPublicJsonReply(200, describeOperatorClient(config, {}, own))
}

/** The operator's own client for everybody: its id, and never its secret. */
function answerWithOperatorClient(
  text: string,
  config: McpAuthenticationConfig,
  own: string,
): Reply {
  const asked = parseJsonObject(text)
  if (asked === null)
    return createOAuthErrorReply(
      400,
      'invalid_client_metadata',
      'the registration is no JSON object',
    )
  const { redirect_uris: uris, grant_types: grants, response_types: types } = asked
  if (![uris, grants, types].every((one) => one === undefined || isTextList(one)))
    return createOAuthErrorReply(
      400,
      'invalid_client_metadata',
      'redirect_uris, grant_types and response_types are lists of texts',
    )
  if (isTextList(uris) && !uris.every(isAllowedRedirectUri))
    return createOAuthErrorReply(
      400,
      'invalid_redirect_uri',
      'a redirect URI is neither https, loopback nor of an app',
    )
  return createPublicJsonReply(201, describeOperatorClient(config, asked, own))
}

function describeOperatorClient(
  config: McpAuthenticationConfig,
  asked: Readonly<Record<string, unknown>>,
  own: string,
): Record<string, unknown> {
  const clientId = config.clientId ?? ''
  const scopes = config.resourceMetadata.scopesSupported
  return {
    client_id: clientId,
    client_id_issued_at: 0,
    token_endpoint_auth_method: 'none',
    grant_types: asked['grant_types'] ?? GRANT_TYPES,
    response_types: asked['response_types'] ?? RESPONSE_TYPES,
    redirect_uris: asked['redirect_uris'] ?? [],
    ...(typeof asked['client_name'] === 'string' ? { client_name: asked['client_name'] } : {}),
    ...(scopes === null ? {} : { scope: scopes.join(' ') }),
    // There are clients that go no further without it.
    registration_client_uri: `${own}/${encodeURIComponent(clientId)}`,
  }
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

// Where a client may ask a login to end: on a page over TLS, on this machine, or in an app.

/** Schemes that browsers run, show or fetch themselves: no app's own. */
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

/** As it was written: parsers drop what is not printable, and would see another URI than its reader. */
const PRINTABLE_URI = /^[!-"$-~]+$/

/** An app's scheme has two slashes behind it, or is a name that somebody owns (RFC 8252 7.1). */
const APP_URI = /^(?:[a-z][a-z\d+.-]*:\/\/|[a-z][a-z\d-]*(?:\.[a-z\d-]+)+:)/i

export function isAllowedRedirectUri(uri: string): boolean {
  if (!PRINTABLE_URI.test(uri) || !URL.canParse(uri)) return false
  const { protocol, host, username, password } = new URL(uri)
  if (username !== '' || password !== '' || BROWSER_SCHEMES.has(protocol)) return false
  if (protocol === 'https:') return true
  return protocol === 'http:' ? isLoopback(hostOfAuthority(host)) : APP_URI.test(uri)
}
