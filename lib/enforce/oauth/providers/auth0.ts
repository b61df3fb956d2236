// auth0: a provider that issues tokens for an API only to those who name it as `audience`.

import { OPENID } from '../../../base/places/well-known.ts'
import type { Provider } from '../types.ts'
import { plain } from './plain.ts'
import { ownUrl, trimmed } from './urls.ts'

export const auth0: Provider = {
  ...plain,
  discoveryUrls: (issuer) => [`${trimmed(issuer)}${OPENID}`],
  edits(found, own, config) {
    const edits = plain.edits(found, own, config)
    const written = ownUrl(found['authorization_endpoint'], config.issuer)
    const [audience] = config.audiences
    if (written === null || audience === undefined) return edits
    const url = new URL(written)
    url.searchParams.set('audience', audience)
    return { ...edits, authorization_endpoint: url.href }
  },
}
