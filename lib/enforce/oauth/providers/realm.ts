// idp_realm: a provider with realms. Its documents are good; it only registers clients where browsers cannot go, and does
// not say that it takes public ones.

import { OPENID } from '../../../base/places/well-known.ts'
import { withPublicClients } from '../public-clients.ts'
import type { Provider } from '../types.ts'
import { ownUrl, trimmed } from './urls.ts'

export const realm: Provider = {
  keysUrl: (issuer) => `${trimmed(issuer)}/protocol/openid-connect/certs`,
  discoveryUrls: (issuer) => [`${trimmed(issuer)}${OPENID}`],
  namedIssuer: (issuer) => issuer,
  edits: (found, own) => ({
    ...withPublicClients(found),
    registration_endpoint: own.registration,
  }),
  registrationUrl: ({ registration_endpoint: written }, issuer) =>
    ownUrl(written, issuer) ?? `${trimmed(issuer)}/clients-registrations/openid-connect`,
  endpoints: () => null,
}
