// How clients may show who they are at the token endpoint, with those among them that have no secret.

import type { Metadata } from './types.ts'

/**
 * The provider's list with `none`, for MCP clients are public ones (spec.md §5.7). Its other methods stay: whoever was
 * registered with the provider as something else comes to the same endpoint.
 */
export function withPublicClients({
  token_endpoint_auth_methods_supported: methods,
}: Metadata): Record<string, unknown> {
  if (!Array.isArray(methods) || methods.includes('none')) return {}
  return { token_endpoint_auth_methods_supported: [...(methods as unknown[]), 'none'] }
}
