// idp_realm: a provider with realms. Its documents are good; it only registers clients where browsers cannot go.

import type { Provider } from '../types.ts'

export const realm: Provider = {
  keysUrl: (issuer) => `${issuer}/protocol/openid-connect/certs`,
  discoveryUrls: (issuer) => [`${trimmed(issuer)}/.well-known/openid-configuration`],
  edits: (_found, own) => ({ registration_endpoint: own.registration }),
  // Only below the issuer: a document must not send registrations elsewhere.
  registrationUrl({ registration_endpoint: written }, issuer) {
    if (typeof written === 'string' && written.startsWith(`${trimmed(issuer)}/`)) return written
    return `${trimmed(issuer)}/clients-registrations/openid-connect`
  },
  endpoints: () => null,
}

function trimmed(issuer: string): string {
  return issuer.replace(/\/$/, '')
}
