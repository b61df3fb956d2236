// The `www-authenticate` of a protected MCP route: where its metadata is, what was wrong, and which scopes there are.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { TokenFault } from '../token/types.ts'
import { resourceMetadataUrl } from './own-urls.ts'

/** For a token that is missing (null) or bad: spec.md §7, RFC 6750 3.1. */
export function challengeOf(config: McpAuthenticationConfig, fault: TokenFault | null): string {
  if (fault === null) return `Bearer ${parameters(config, [])}`
  return `Bearer ${parameters(config, [
    ['error', 'invalid_token'],
    ['error_description', `the token is not valid: ${fault}`],
  ])}`
}

/** For a good token that lacks a scope. */
export function scopeChallengeOf(config: McpAuthenticationConfig): string {
  return `Bearer ${parameters(config, [
    ['error', 'insufficient_scope'],
    ['error_description', 'the token lacks a scope'],
  ])}`
}

function parameters(
  config: McpAuthenticationConfig,
  first: readonly (readonly [string, string])[],
): string {
  const { scopesSupported } = config.resourceMetadata
  const scope = first.length > 0 && scopesSupported !== null ? scopesSupported.join(' ') : ''
  return [
    ...first,
    ['resource_metadata', resourceMetadataUrl(config)] as const,
    ...(scope === '' ? [] : [['scope', scope] as const]),
  ]
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')
}
