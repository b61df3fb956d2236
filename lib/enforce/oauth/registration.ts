// Client registration (RFC 7591): handed to the provider, or answered with the client that the operator registered.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import { objectIn } from '../../base/json/object-in.ts'
import { readWhole } from '../../base/read-whole.ts'
import type { Reply } from '../../base/types.ts'
import type { Documents } from './documents.ts'
import type { ProviderCalls } from './provider-calls.ts'
import { isRedirectUri } from './redirect-uri.ts'
import { downReply, errorReply, jsonReply } from './replies.ts'
import type { Provider } from './types.ts'

/** Names, redirect URIs, perhaps a logo. */
const MAX_REGISTRATION_BYTES = 65_536

const GRANT_TYPES = ['authorization_code', 'refresh_token']
const RESPONSE_TYPES = ['code']

export interface Registrars {
  readonly provider: Provider
  readonly documents: Documents
  readonly calls: ProviderCalls
  /** Where this is. */
  readonly url: string
}

export async function register(
  exchange: Exchange,
  config: McpAuthenticationConfig,
  { provider, documents, calls, url: own }: Registrars,
): Promise<Reply> {
  const bytes = await readWhole(exchange, MAX_REGISTRATION_BYTES)
  if (bytes === null) {
    const bound = `the registration has more than ${MAX_REGISTRATION_BYTES} bytes`
    return errorReply(413, 'invalid_client_metadata', bound)
  }
  if (config.clientId !== null) return answered(bytes.toString(), config, own)
  const found = await documents.first(provider.discoveryUrls(config.issuer))
  if (typeof found === 'string') return downReply(found)
  const url = provider.registrationUrl(found, config.issuer)
  if (url === null)
    return errorReply(
      400,
      'invalid_request',
      'the identity provider registers no clients: set clientId in mcpAuthentication',
    )
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return calls.post('client registration', { url, headers, body: bytes })
}

/** What can be read again of the operator's client; null where a path names another. */
export function clientReply(
  path: string,
  config: McpAuthenticationConfig,
  own: string,
): Reply | null {
  const { clientId } = config
  if (clientId === null || !path.endsWith(`/${encodeURIComponent(clientId)}`)) return null
  return jsonReply(200, clientOf(config, {}, own))
}

/** The operator's own client for everybody: its id, and never its secret. */
function answered(text: string, config: McpAuthenticationConfig, own: string): Reply {
  const asked = objectIn(text)
  if (asked === null)
    return errorReply(400, 'invalid_client_metadata', 'the registration is no JSON object')
  const { redirect_uris: uris, grant_types: grants, response_types: types } = asked
  if (![uris, grants, types].every((one) => one === undefined || isTexts(one)))
    return errorReply(
      400,
      'invalid_client_metadata',
      'redirect_uris, grant_types and response_types are lists of texts',
    )
  if (isTexts(uris) && !uris.every(isRedirectUri))
    return errorReply(
      400,
      'invalid_redirect_uri',
      'a redirect URI is neither https, loopback nor of an app',
    )
  return jsonReply(201, clientOf(config, asked, own))
}

function clientOf(
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

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
