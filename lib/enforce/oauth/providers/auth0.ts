// auth0: a provider that issues tokens for an API only to those who name it as `audience`.

import type { Provider } from '../types.ts'

export const auth0: Provider = {
  keysUrl: (issuer) => `${trimmed(issuer)}/.well-known/jwks.json`,
  discoveryUrls: (issuer) => [`${trimmed(issuer)}/.well-known/openid-configuration`],
  edits({ authorization_endpoint: written }, own, { audiences }) {
    const [audience] = audiences
    if (typeof written !== 'string' || audience === undefined) return {}
    const url = new URL(written)
    url.searchParams.set('audience', audience)
    return { authorization_endpoint: url.href, registration_endpoint: own.registration }
  },
  registrationUrl({ registration_endpoint: written }, issuer) {
    const isOwn = typeof written === 'string' && written.startsWith(`${trimmed(issuer)}/`)
    return isOwn ? written : null
  },
  endpoints: () => null,
}

function trimmed(issuer: string): string {
  return issuer.replace(/\/$/, '')
}
