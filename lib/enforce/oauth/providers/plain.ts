// No provider named: whatever the issuer says of itself, by RFC 8414 or as an OpenID provider.

import type { Provider } from '../types.ts'

export const plain: Provider = {
  keysUrl: (issuer) => `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`,
  discoveryUrls(issuer) {
    const { origin, pathname } = new URL(issuer)
    const path = pathname.replace(/\/$/, '')
    return [
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]
  },
  edits: (found, own) =>
    found['registration_endpoint'] === undefined ? {} : { registration_endpoint: own.registration },
  registrationUrl: ({ registration_endpoint: written }, issuer) =>
    typeof written === 'string' && sameOrigin(written, issuer) ? written : null,
  endpoints: () => null,
}

function sameOrigin(url: string, other: string): boolean {
  return URL.canParse(url) && new URL(url).origin === new URL(other).origin
}
