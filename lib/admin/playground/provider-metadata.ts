// Reads the metadata for a login at an MCP backend's provider, as MCP clients do: the protected resource metadata first,
// then the metadata of its authorization server (RFC 9728, RFC 8414, OpenID Connect).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import {
  OPENID_CONFIGURATION_PATH,
  RESOURCE_METADATA_PATH,
  SERVER_METADATA_PATH,
} from '../../core/well-known-paths.ts'
import { LoginError } from './provider-access.ts'
import type { ProviderAccess } from './provider-access.ts'

export interface ServerMetadata {
  /** Issuers that a redirect may name; empty if the provider's own issuer differs from the gateway's document. */
  readonly issuers: readonly string[]
  readonly authorization: string
  readonly token: string
  /** Null if clients cannot register. */
  readonly registration: string | null
  /** RFC 9207: its redirects name the issuer. */
  readonly sendsIssuer: boolean
  readonly scopes: readonly string[]
}

/** The maximum of requested scopes. */
const MAX_SCOPES = 64

export async function fetchServerMetadata(
  config: McpAuthenticationConfig,
  access: ProviderAccess,
): Promise<ServerMetadata> {
  const { origin, path } = partsOf(config.resourceMetadata.resource)
  const resource = await access.fetchFirstDocument([`${origin}${RESOURCE_METADATA_PATH}${path}`])
  const [server] = Array.isArray(resource['authorization_servers'])
    ? (resource['authorization_servers'] as unknown[])
    : []
  // The configuration allows these two only.
  if (server !== `${origin}${path}` && server !== config.issuer)
    throw new LoginError('the resource names an authorization server that is not configured')
  const found = await access.fetchFirstDocument(documentsOf(server, config))
  const { issuer } = found
  // RFC 8414 3.3: otherwise another server could have written the document.
  if (issuer !== server)
    throw new LoginError("the authorization server's document names another issuer")
  const registration = found['registration_endpoint']
  return {
    issuers: config.provider === 'idp_tenant' ? [] : [server, config.issuer],
    authorization: endpointIn(found, 'authorization_endpoint', access),
    token: endpointIn(found, 'token_endpoint', access),
    registration: isKnownHost(registration, access) ? registration : null,
    sendsIssuer: found['authorization_response_iss_parameter_supported'] === true,
    scopes: textsIn(resource['scopes_supported']).slice(0, MAX_SCOPES),
  }
}

/** RFC 8414 puts the well-known part before the path, OpenID Connect after it; the gateway uses the former. */
function documentsOf(server: string, { issuer }: McpAuthenticationConfig): string[] {
  const { origin, path } = partsOf(server)
  if (server !== issuer) return [`${origin}${SERVER_METADATA_PATH}${path}`]
  return [`${origin}${SERVER_METADATA_PATH}${path}`, `${origin}${path}${OPENID_CONFIGURATION_PATH}`]
}

/** Throws for a URL that is not allowed. */
function endpointIn(
  found: Readonly<Record<string, unknown>>,
  member: string,
  access: ProviderAccess,
): string {
  const url = found[member]
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new LoginError(`the authorization server's document has no ${member}`)
  if (access.hostKindOf(url) === 'forbidden')
    throw new LoginError(
      `${member} of the authorization server is not safe to use: it is neither at the issuer nor at a public host over TLS`,
    )
  return url
}

/** At the provider or the gateway itself: a document must not send a registration to another host. */
function isKnownHost(url: unknown, access: ProviderAccess): url is string {
  return typeof url === 'string' && ['gateway', 'provider'].includes(access.hostKindOf(url))
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function partsOf(url: string): { origin: string; path: string } {
  const { origin, pathname } = new URL(url)
  return { origin, path: pathname.replace(/\/$/, '') }
}
