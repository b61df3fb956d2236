// Identity provider adapters: where each provider has its keys and documents, and how its metadata must be edited.

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { OPENID_CONFIGURATION_PATH, SERVER_METADATA_PATH } from '../../core/well-known-paths.ts'

/** The members of a metadata document, as parsed from JSON. */
export type ProviderMetadata = Readonly<Record<string, unknown>>

/** URLs of the gateway itself that a metadata document contains. */
export interface GatewayUrls {
  readonly issuer: string
  /** The URL of this document; proxied authorize and token endpoints are below it. */
  readonly document: string
  readonly registration: string
}

export interface ProviderEndpoints {
  readonly authorize: string
  readonly token: string
}

/** An adapter for one kind of identity provider. */
export interface IdentityProvider {
  /** The key set URL (spec.md §4.3). */
  keysUrl(issuer: string): string
  /** Discovery document URLs, from which the gateway's metadata is built; the first that exists is used. */
  discoveryUrls(issuer: string): readonly string[]
  /** The `issuer` that the discovery document should contain. */
  advertisedIssuer(issuer: string): string
  /** Members of the gateway's document that differ from the provider's; undefined removes a member. */
  metadataEdits(
    fetched: ProviderMetadata,
    gatewayUrls: GatewayUrls,
    config: McpAuthenticationConfig,
  ): Record<string, unknown>
  /** The registration endpoint; null when the provider does not support registration. */
  registrationUrl(fetched: ProviderMetadata, issuer: string): string | null
  /** The endpoints to which the gateway proxies authorize and token requests; null when clients call them directly. */
  endpoints(issuer: string): ProviderEndpoints | null
}

/** The adapter without a configured provider: RFC 8414 metadata or OpenID Connect discovery of the issuer. */
export const genericProvider: IdentityProvider = {
  keysUrl: (issuer) => `${removeTrailingSlash(issuer)}/.well-known/jwks.json`,
  discoveryUrls(issuer) {
    const { origin, pathname } = new URL(issuer)
    const path = removeTrailingSlash(pathname)
    return [
      `${origin}${SERVER_METADATA_PATH}${path}`,
      `${origin}${path}${OPENID_CONFIGURATION_PATH}`,
    ]
  },
  advertisedIssuer: (issuer) => issuer,
  metadataEdits({ registration_endpoint: endpoint }, gatewayUrls, { issuer }) {
    const isOffered = acceptUrlAtProvider(endpoint, issuer) !== null
    return { registration_endpoint: isOffered ? gatewayUrls.registration : undefined }
  },
  registrationUrl: ({ registration_endpoint: endpoint }, issuer) =>
    acceptUrlAtProvider(endpoint, issuer),
  endpoints: () => null,
}

/** auth0 issues tokens for an API only when the authorize request names it as `audience`. */
export const auth0Provider: IdentityProvider = {
  ...genericProvider,
  discoveryUrls: (issuer) => [`${removeTrailingSlash(issuer)}${OPENID_CONFIGURATION_PATH}`],
  metadataEdits(fetched, gatewayUrls, config) {
    const edits = genericProvider.metadataEdits(fetched, gatewayUrls, config)
    const endpoint = acceptUrlAtProvider(fetched['authorization_endpoint'], config.issuer)
    const [audience] = config.audiences
    if (endpoint === null || audience === undefined) return edits
    const url = new URL(endpoint)
    url.searchParams.set('audience', audience)
    return { ...edits, authorization_endpoint: url.href }
  },
}

/**
 * idp_realm, a provider with realms. Browsers cannot reach its registration endpoint, so the gateway proxies it, and its
 * metadata does not list public clients.
 */
export const realmProvider: IdentityProvider = {
  keysUrl: (issuer) => `${removeTrailingSlash(issuer)}/protocol/openid-connect/certs`,
  discoveryUrls: (issuer) => [`${removeTrailingSlash(issuer)}${OPENID_CONFIGURATION_PATH}`],
  advertisedIssuer: (issuer) => issuer,
  metadataEdits: (fetched, gatewayUrls) => ({
    ...addPublicClientMethod(fetched),
    registration_endpoint: gatewayUrls.registration,
  }),
  registrationUrl: ({ registration_endpoint: endpoint }, issuer) =>
    acceptUrlAtProvider(endpoint, issuer) ??
    `${removeTrailingSlash(issuer)}/clients-registrations/openid-connect`,
  endpoints: () => null,
}

/** The issuer host of version 1 tokens, and the host of their tenant's endpoints. */
const V1_ISSUER_HOST = 'sts.windows.net'
const LOGIN_HOST = 'login.microsoftonline.com'

/**
 * idp_tenant, a provider with tenants. It has no registration, rejects `resource` and does not advertise PKCE, so the
 * gateway proxies its authorize and token endpoints (spec.md §4.3).
 */
export const tenantProvider: IdentityProvider = {
  keysUrl: (issuer) => `${tenantUrl(issuer)}/discovery/v2.0/keys`,
  discoveryUrls: (issuer) => [`${tenantUrl(issuer)}/v2.0${OPENID_CONFIGURATION_PATH}`],
  // Discovery documents are those of version 2, for issuers of both versions.
  advertisedIssuer: (issuer) => `${tenantUrl(issuer)}/v2.0`,
  metadataEdits: (_fetched, { document }) => ({
    authorization_endpoint: `${document}/authorize`,
    token_endpoint: `${document}/token`,
    registration_endpoint: undefined,
    // The aliases would bypass the gateway.
    mtls_endpoint_aliases: undefined,
    code_challenge_methods_supported: ['S256'],
    // MCP clients are public clients (spec.md §5.7).
    token_endpoint_auth_methods_supported: ['none'],
  }),
  registrationUrl: () => null,
  endpoints(issuer) {
    const base = `${tenantUrl(issuer)}/oauth2/v2.0`
    return { authorize: `${base}/authorize`, token: `${base}/token` }
  },
}

/** Returns `https://<host>/<tenant>` of an issuer of either version; keeps another scheme or port, for mirrors and tests. */
function tenantUrl(issuer: string): string {
  const { origin, hostname, pathname } = new URL(issuer)
  const [tenantId = ''] = pathname.split('/').filter((part) => part !== '')
  const base = hostname === V1_ISSUER_HOST ? `https://${LOGIN_HOST}` : origin
  return `${base}/${tenantId}`
}

const PROVIDERS: Readonly<
  Record<NonNullable<McpAuthenticationConfig['provider']>, IdentityProvider>
> = {
  idp_realm: realmProvider,
  idp_tenant: tenantProvider,
  auth0: auth0Provider,
}

export function selectIdentityProvider({ provider }: McpAuthenticationConfig): IdentityProvider {
  return provider === null ? genericProvider : PROVIDERS[provider]
}

function removeTrailingSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/** Returns a URL of the provider's metadata if it has the issuer's origin: a document must not send data elsewhere. */
export function acceptUrlAtProvider(url: unknown, issuer: string): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  return new URL(url).origin === new URL(issuer).origin ? url : null
}

/**
 * Adds `none` to the client authentication methods: MCP clients are public clients (spec.md §5.7). The other methods stay
 * for clients that were registered with the provider directly and use the same token endpoint.
 */
export function addPublicClientMethod({
  token_endpoint_auth_methods_supported: methods,
}: ProviderMetadata): Record<string, unknown> {
  if (!Array.isArray(methods) || methods.includes('none')) return {}
  return { token_endpoint_auth_methods_supported: [...(methods as unknown[]), 'none'] }
}
