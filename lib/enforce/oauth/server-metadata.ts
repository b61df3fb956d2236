// What clients learn of the authorization server that the gateway presents itself as: the provider's own document with
// the gateway's name on it (spec.md §2.5, RFC 8414).

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { withPublicClients } from './public-clients.ts'
import type { Metadata, OwnUrls, Provider } from './types.ts'

/** A document says who it is of; RFC 8414 3.3: that is the URL it was looked up by. */
export function serverMetadata(
  config: McpAuthenticationConfig,
  provider: Provider,
  found: Metadata,
  own: OwnUrls,
): Record<string, unknown> {
  const edited: Record<string, unknown> = {
    ...found,
    issuer: own.issuer,
    ...provider.edits(found, own, config),
  }
  // Whoever registers gets the operator's client, and no secret.
  if (config.clientId !== null)
    Object.assign(edited, withPublicClients(edited), { registration_endpoint: own.registration })
  // The provider's answer carries the provider's own `iss`, which is not the issuer here (RFC 9207).
  delete edited['authorization_response_iss_parameter_supported']
  // The same members, signed by the provider: they would count for more than what stands here.
  delete edited['signed_metadata']
  return edited
}
