// The `www-authenticate` of a protected MCP route: where its metadata is, what was wrong, and which scopes there are.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { bearerChallenge, faultParameters } from '../token/bearer-challenge.ts'
import type { Parameter } from '../token/bearer-challenge.ts'
import type { TokenFault } from '../token/types.ts'
import { resourceMetadataUrl } from './own-urls.ts'

/** For a token that is missing (null) or bad: spec.md §7. */
export function challengeOf(config: McpAuthenticationConfig, fault: TokenFault | null): string {
  return withMetadata(config, faultParameters(fault))
}

/** For a good token that lacks a scope. */
export function scopeChallengeOf(config: McpAuthenticationConfig): string {
  return withMetadata(config, [
    ['error', 'insufficient_scope'],
    ['error_description', 'the token lacks a scope'],
  ])
}

function withMetadata(config: McpAuthenticationConfig, first: readonly Parameter[]): string {
  const { scopesSupported } = config.resourceMetadata
  const scope = first.length > 0 && scopesSupported !== null ? scopesSupported.join(' ') : ''
  return bearerChallenge([
    ...first,
    ['resource_metadata', resourceMetadataUrl(config)],
    ...(scope === '' ? [] : [['scope', scope] as const]),
  ])
}
