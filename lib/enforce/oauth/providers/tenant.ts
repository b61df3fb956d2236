// idp_tenant: a provider with tenants. It registers nobody, refuses `resource`, and does not say that it knows PKCE, so
// the gateway stands in between (spec.md §4.3).

import { OPENID } from '../../../base/places/well-known.ts'
import type { Provider } from '../types.ts'

/** Where tokens of version 1 come from, and where their tenant's endpoints are. */
const V1_ISSUER = 'sts.windows.net'
const LOGIN_HOST = 'login.microsoftonline.com'

export const tenant: Provider = {
  keysUrl: (issuer) => `${tenantUrl(issuer)}/discovery/v2.0/keys`,
  discoveryUrls: (issuer) => [`${tenantUrl(issuer)}/v2.0${OPENID}`],
  // Of either version: documents are those of version 2.
  namedIssuer: (issuer) => `${tenantUrl(issuer)}/v2.0`,
  edits: (_found, own) => ({
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
