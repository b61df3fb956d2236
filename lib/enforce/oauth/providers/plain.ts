// No provider named: whatever the issuer says of itself, by RFC 8414 or as an OpenID provider.

import { OPENID, SERVER } from '../../../base/places/well-known.ts'
import type { Provider } from '../types.ts'
import { ownUrl, trimmed } from './urls.ts'

export const plain: Provider = {
  keysUrl: (issuer) => `${trimmed(issuer)}/.well-known/jwks.json`,
  discoveryUrls(issuer) {
    const { origin, pathname } = new URL(issuer)
    const path = trimmed(pathname)
    return [`${origin}${SERVER}${path}`, `${origin}${path}${OPENID}`]
  },
  namedIssuer: (issuer) => issuer,
  edits({ registration_endpoint: written }, own, { issuer }) {
    const isOffered = ownUrl(written, issuer) !== null
    return { registration_endpoint: isOffered ? own.registration : undefined }
  },
  registrationUrl: ({ registration_endpoint: written }, issuer) => ownUrl(written, issuer),
  endpoints: () => null,
}
