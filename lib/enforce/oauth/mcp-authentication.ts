// The mcpAuthentication policy: OAuth 2.0 for MCP routes. Metadata documents and registration need no token; all other
// requests do, and the 401 tells a client where to get one (spec.md §5, §7).

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { buildReply } from '../../core/replies.ts'
import type { Policy } from '../../core/types.ts'
import type { IdentityStore } from '../auth/identity.ts'
import { challengeParametersOf, checkToken, formatBearerChallenge } from '../auth/jwt-auth.ts'
import type { ChallengeParameter, TokenCheck } from '../auth/jwt-auth.ts'
import type { TokenFault } from '../auth/token-verifier.ts'
import { OAuthPathHandler } from './oauth-paths.ts'
import { selectIdentityProvider } from './providers.ts'
import { resourceMetadataUrl } from './public-urls.ts'
import type { RootMetadataOwnership } from './public-urls.ts'

export function createMcpAuthenticationPolicy(
  config: McpAuthenticationConfig,
  identity: IdentityStore,
  roots: RootMetadataOwnership,
): Policy {
  const paths = new OAuthPathHandler(config, identity, roots)
  const unauthorized = (description: string, fault: TokenFault | null) =>
    buildReply(
      401,
      [
        ['www-authenticate', formatMcpChallenge(config, fault)],
        ['content-type', 'application/json'],
      ],
      JSON.stringify({ error: 'unauthorized', error_description: description }),
    )
  const check: TokenCheck = {
    mode: config.mode,
    location: config.location,
    verifier: identity.verifier(config, selectIdentityProvider(config).keysUrl(config.issuer)),
    missing: () => unauthorized('JWT token required', null),
    invalid: (_exchange, fault) => unauthorized(`JWT token is not valid: ${fault}`, fault),
    unavailable: () =>
      buildReply(
        503,
        [['content-type', 'application/json']],
        JSON.stringify({
          error: 'temporarily_unavailable',
          error_description: 'signing keys of the issuer are unavailable',
        }),
      ),
  }
  return {
    kind: 'mcpAuthentication',
    request: (exchange) => paths.answer(exchange) ?? checkToken(check, exchange),
  }
}

/** The challenge for a missing (null) or invalid token: spec.md §7. */
function formatMcpChallenge(config: McpAuthenticationConfig, fault: TokenFault | null): string {
  return formatChallengeWithMetadata(config, challengeParametersOf(fault))
}

/** The challenge for a valid token that lacks a scope. */
export function formatScopeChallenge(config: McpAuthenticationConfig): string {
  return formatChallengeWithMetadata(config, [
    ['error', 'insufficient_scope'],
    ['error_description', 'the token lacks a scope'],
  ])
}

function formatChallengeWithMetadata(
  config: McpAuthenticationConfig,
  parameters: readonly ChallengeParameter[],
): string {
  const { scopesSupported } = config.resourceMetadata
  const scope = parameters.length > 0 && scopesSupported !== null ? scopesSupported.join(' ') : ''
  return formatBearerChallenge([
    ...parameters,
    ['resource_metadata', resourceMetadataUrl(config)],
    ...(scope === '' ? [] : [['scope', scope] as const]),
  ])
}
