// The adapter that a configuration names.

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { OPENID_CONFIGURATION_PATH, SERVER_METADATA_PATH } from '../../core/well-known-paths.ts'

// No provider named: whatever the issuer says of itself, by RFC 8414 or as an OpenID provider.

export const genericProvider: IdentityProvider = {
  keysUrl: (issuer) => `${trimUrlSlash(issuer)}/.well-known/jwks.json`,
  discoveryUrls(issuer) {
    const { origin, pathname } = new URL(issuer)
    const path = trimUrlSlash(pathname)
    return [
      `${origin}${SERVER_METADATA_PATH}${path}`,
      `${origin}${path}${OPENID_CONFIGURATION_PATH}`,
    ]
  },
  advertisedIssuer: (issuer) => issuer,
  metadataEdits({ registration_endpoint: written }, own, { issuer }) {
    const isOffered = acceptUrlAtProvider(written, issuer) !== null
    return { registration_endpoint: isOffered ? own.registration : undefined }
  },
  registrationUrl: ({ registration_endpoint: written }, issuer) =>
    acceptUrlAtProvider(written, issuer),
  endpoints: () => null,
}

// auth0: a provider that issues tokens for an API only to those who name it as `audience`.

export const auth0Provider: IdentityProvider = {
  ...genericProvider,
  discoveryUrls: (issuer) => [`${trimUrlSlash(issuer)}${OPENID_CONFIGURATION_PATH}`],
  metadataEdits(found, own, config) {
    const edits = genericProvider.metadataEdits(found, own, config)
    const written = acceptUrlAtProvider(found['authorization_endpoint'], config.issuer)
    const [audience] = config.audiences
    if (written === null || audience === undefined) return edits
    const url = new URL(written)
    url.searchParams.set('audience', audience)
    return { ...edits, authorization_endpoint: url.href }
  },
}

// idp_realm: a provider with realms. Its documents are good; it only registers clients where browsers cannot go, and does
// not say that it takes public ones.

export const realmProvider: IdentityProvider = {
  keysUrl: (issuer) => `${trimUrlSlash(issuer)}/protocol/openid-connect/certs`,
  discoveryUrls: (issuer) => [`${trimUrlSlash(issuer)}${OPENID_CONFIGURATION_PATH}`],
  advertisedIssuer: (issuer) => issuer,
  metadataEdits: (found, own) => ({
    ...addPublicClientMethod(found),
    registration_endpoint: own.registration,
  }),
  registrationUrl: ({ registration_endpoint: written }, issuer) =>
    acceptUrlAtProvider(written, issuer) ??
    `${trimUrlSlash(issuer)}/clients-registrations/openid-connect`,
  endpoints: () => null,
}

// idp_tenant: a provider with tenants. It registers nobody, refuses `resource`, and does not say that it knows PKCE, so
// the gateway stands in between (spec.md §4.3).

/** Where tokens of version 1 come from, and where their tenant's endpoints are. */
const V1_ISSUER = 'sts.windows.net'
const LOGIN_HOST = 'login.microsoftonline.com'

export const tenantProvider: IdentityProvider = {
  keysUrl: (issuer) => `${tenantUrl(issuer)}/discovery/v2.0/keys`,
  discoveryUrls: (issuer) => [`${tenantUrl(issuer)}/v2.0${OPENID_CONFIGURATION_PATH}`],
  // Of either version: documents are those of version 2.
  advertisedIssuer: (issuer) => `${tenantUrl(issuer)}/v2.0`,
  metadataEdits: (_found, own) => ({
    authorization_endpoint: `${own.document}/authorize`,
    token_endpoint: `${own.document}/token`,
    registration_endpoint: undefined,
    // They would lead past the gateway.
    mtls_endpoint_aliases: undefined,
    code_challenge_methods_supported: ['S256'],
    // MCP clients are public ones (spec.md §5.7).
    token_endpoint_auth_methods_supported: ['none'],
  }),
  registrationUrl: () => null,
  endpoints(issuer) {
    const base = `${tenantUrl(issuer)}/oauth2/v2.0`
    return { authorize: `${base}/authorize`, token: `${base}/token` }
  },
}

/** `https://<host>/<tenant>` of an issuer of either version; another scheme or port stays, for mirrors and tests. */
function tenantUrl(issuer: string): string {
  const { origin, hostname, pathname } = new URL(issuer)
  const [id = ''] = pathname.split('/').filter((part) => part !== '')
  const base = hostname === V1_ISSUER ? `https://${LOGIN_HOST}` : origin
  return `${base}/${id}`
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

// What an identity provider needs done for it. A provider that is not here yet is one more file that says this much.

/** The members of a metadata document; values as JSON gave them. */
export type ProviderMetadata = Readonly<Record<string, unknown>>

/** URLs of the gateway itself that a document names. */
export interface GatewayUrls {
  readonly issuer: string
  /** Where this document is found: authorize and token requests go below it, where the gateway stands in between. */
  readonly document: string
  readonly registration: string
}

export interface ProviderEndpoints {
  readonly authorize: string
  readonly token: string
}

export interface IdentityProvider {
  /** Where its keys are (spec.md §4.3). */
  keysUrl(issuer: string): string
  /** Its own description, which the gateway's is made from; the first that is there counts. */
  discoveryUrls(issuer: string): readonly string[]
  /** What that calls the issuer, when all is well. */
  advertisedIssuer(issuer: string): string
  /** Members of the gateway's document that differ from the provider's; undefined takes one out. */
  metadataEdits(
    found: ProviderMetadata,
    own: GatewayUrls,
    config: McpAuthenticationConfig,
  ): Record<string, unknown>
  /** Where clients are registered; null where it registers nobody. */
  registrationUrl(found: ProviderMetadata, issuer: string): string | null
  /** Where authorize and token requests go, when the gateway stands in between; null when clients go there themselves. */
  endpoints(issuer: string): ProviderEndpoints | null
}

// What adapters do to URLs of their providers.

/** Without a slash at the end. */
function trimUrlSlash(url: string): string {
  return url.replace(/\/$/, '')
}

/** A provider's word on where to post something, if that is at the provider: a document must not send it elsewhere. */
export function acceptUrlAtProvider(written: unknown, issuer: string): string | null {
  if (typeof written !== 'string' || !URL.canParse(written)) return null
  return new URL(written).origin === new URL(issuer).origin ? written : null
}

// How clients may show who they are at the token endpoint, with those among them that have no secret.

/**
 * The provider's list with `none`, for MCP clients are public ones (spec.md §5.7). Its other methods stay: whoever was
 * registered with the provider as something else comes to the same endpoint.
 */
export function addPublicClientMethod({
  token_endpoint_auth_methods_supported: methods,
}: ProviderMetadata): Record<string, unknown> {
  if (!Array.isArray(methods) || methods.includes('none')) return {}
  return { token_endpoint_auth_methods_supported: [...(methods as unknown[]), 'none'] }
}
