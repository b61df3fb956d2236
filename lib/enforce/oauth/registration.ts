// Client registration (RFC 7591): handed to the provider, or answered with the client that the operator registered.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import { hostOf, isLoopback } from '../../base/loopback.ts'
import { readWhole } from '../../base/read-whole.ts'
import type { Reply } from '../../base/types.ts'
import type { Identity } from '../identity.ts'
import { downReply, errorReply, jsonReply, methodReply } from './replies.ts'
import { passedOn } from './tenant-endpoints.ts'
import type { Provider } from './types.ts'

/** Names, redirect URIs, perhaps a logo. */
const MAX_REGISTRATION_BYTES = 65_536

export async function register(
  exchange: Exchange,
  config: McpAuthenticationConfig,
  provider: Provider,
  identity: Identity,
): Promise<Reply> {
  if (exchange.request.method !== 'POST') return methodReply('POST')
  const bytes = await readWhole(exchange.body, MAX_REGISTRATION_BYTES)
  if (bytes === null) {
    const bound = `the registration has more than ${MAX_REGISTRATION_BYTES} bytes`
    return errorReply(413, 'invalid_client_metadata', bound)
  }
  if (config.clientId !== null) return answered(bytes.toString(), config, config.clientId)
  const found = await identity.documents.first(provider.discoveryUrls(config.issuer))
  if (typeof found === 'string') return downReply(found)
  const url = provider.registrationUrl(found, config.issuer)
  if (url === null)
    return errorReply(
      400,
      'invalid_request',
      'the identity provider registers no clients: set clientId in mcpAuthentication',
    )
  try {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    return passedOn(await identity.fetch(url, { method: 'POST', headers, body: bytes }))
  } catch {
    return downReply(`${new URL(url).host} does not answer`)
  }
}

/** The operator's own client for everybody: its id, and never its secret. */
function answered(text: string, config: McpAuthenticationConfig, clientId: string): Reply {
  const asked = metadataIn(text)
  if (asked === null)
    return errorReply(400, 'invalid_client_metadata', 'the registration is no JSON object')
  const uris = listOf(asked['redirect_uris']) ?? []
  const odd = uris.find((uri) => !isRedirectUri(uri))
  if (odd !== undefined)
    return errorReply(
      400,
      'invalid_redirect_uri',
      'a redirect URI is neither https, loopback nor an app',
    )
  const scopes = config.resourceMetadata.scopesSupported
  const client = {
    client_id: clientId,
    client_id_issued_at: 0,
    token_endpoint_auth_method: 'none',
    grant_types: listOf(asked['grant_types']) ?? ['authorization_code', 'refresh_token'],
    response_types: listOf(asked['response_types']) ?? ['code'],
    redirect_uris: uris,
    ...(typeof asked['client_name'] === 'string' ? { client_name: asked['client_name'] } : {}),
    ...(scopes === null ? {} : { scope: scopes.join(' ') }),
  }
  return jsonReply(201, client, 'POST, OPTIONS')
}

function metadataIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function listOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null
  return value.filter((one) => typeof one === 'string')
}

/** Schemes that run what they carry. */
const DANGEROUS = ['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'ws:', 'wss:']

/** https, http to this machine (RFC 8252 7.3), or an app's own scheme such as cursor:// */
function isRedirectUri(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, host, hash } = new URL(uri)
  if (hash !== '' || DANGEROUS.includes(protocol)) return false
  return protocol !== 'http:' || isLoopback(hostOf(host))
}
