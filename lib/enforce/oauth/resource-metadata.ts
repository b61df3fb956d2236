// What clients learn of the protected resource: spec.md §2.4, RFC 9728.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { issuerUrl } from './own-urls.ts'

const MCP_PROTOCOL_VERSION = '2025-06-18'

export function resourceMetadata(config: McpAuthenticationConfig): Record<string, unknown> {
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
