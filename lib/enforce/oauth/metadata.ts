// What clients learn of the authorization server that the gateway presents itself as: the provider's own document with
// the gateway's name on it (spec.md §2.5, RFC 8414).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { addPublicClientMethod } from './providers.ts'
import type { GatewayUrls, IdentityProvider, ProviderMetadata } from './providers.ts'
import { issuerUrl } from './public-urls.ts'

/** A document says who it is of; RFC 8414 3.3: that is the URL it was looked up by. */
export function buildServerMetadata(
  config: McpAuthenticationConfig,
  provider: IdentityProvider,
  found: ProviderMetadata,
  own: GatewayUrls,
): Record<string, unknown> {
  const edited: Record<string, unknown> = {
    ...found,
    issuer: own.issuer,
    ...provider.metadataEdits(found, own, config),
  }
  // Whoever registers gets the operator's client, and no secret.
  if (config.clientId !== null)
    Object.assign(edited, addPublicClientMethod(edited), {
      registration_endpoint: own.registration,
    })
  // The provider's answer carries the provider's own `iss`, which is not the issuer here (RFC 9207).
  delete edited['authorization_response_iss_parameter_supported']
  // The same members, signed by the provider: they would count for more than what stands here.
  delete edited['signed_metadata']
  return edited
}

// What clients learn of the protected resource: spec.md §2.4, RFC 9728.

const MCP_PROTOCOL_VERSION = '2025-06-18'

export function buildResourceMetadata(config: McpAuthenticationConfig): Record<string, unknown> {
  const { resource, ...rest } = config.resourceMetadata
  const server = config.issuerMode === 'provider' ? config.issuer : issuerUrl(config, 'resource')
  const fields = {
    resource,
    authorization_servers: [server],
    mcp_protocol_version: MCP_PROTOCOL_VERSION,
    resource_type: 'mcp-server',
    bearer_methods_supported: rest.bearerMethodsSupported,
    scopes_supported: rest.scopesSupported,
    resource_name: rest.resourceName,
    resource_documentation: rest.resourceDocumentation,
    resource_policy_uri: rest.resourcePolicyUri,
    resource_tos_uri: rest.resourceTosUri,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
