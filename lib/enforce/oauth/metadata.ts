// The OAuth metadata documents that the gateway serves: authorization server metadata (spec.md §2.5, RFC 8414) and
// protected resource metadata (spec.md §2.4, RFC 9728).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { addPublicClientMethod } from './providers.ts'
import type { GatewayUrls, IdentityProvider, ProviderMetadata } from './providers.ts'
import { issuerUrl } from './public-urls.ts'

/** Edits the provider's document. RFC 8414 3.3: `issuer` must be the URL from which clients derived the document URL. */
export function buildServerMetadata(
  config: McpAuthenticationConfig,
  provider: IdentityProvider,
  fetched: ProviderMetadata,
  gatewayUrls: GatewayUrls,
): Record<string, unknown> {
  const edited: Record<string, unknown> = {
    ...fetched,
    issuer: gatewayUrls.issuer,
    ...provider.metadataEdits(fetched, gatewayUrls, config),
  }
  // Every registration returns the operator's client, without a secret.
  if (config.clientId !== null)
    Object.assign(edited, addPublicClientMethod(edited), {
      registration_endpoint: gatewayUrls.registration,
    })
  // The provider's authorization response carries the provider's own `iss`, which differs from this issuer (RFC 9207).
  delete edited['authorization_response_iss_parameter_supported']
  // The provider's signed copy of these members would take precedence over the edited ones.
  delete edited['signed_metadata']
  return edited
}

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
