// mcpAuthentication: OAuth 2.0 in front of MCP. Documents and registration need no token; everything else does, and a
// client without a good one is told where to get it (spec.md §5, §7).

import type { McpAuthenticationConfig } from '../base/config/auth-types.ts'
import { replyOf } from '../base/reply.ts'
import type { Policy } from '../base/types.ts'
import type { Identity } from './identity.ts'
import { challengeOf } from './oauth/challenge.ts'
import { OAuthPaths } from './oauth/oauth-paths.ts'
import { providerOf } from './oauth/provider-of.ts'
import type { RootForms } from './oauth/root-forms.ts'
import { checkToken } from './token/check-token.ts'
import type { TokenCheck } from './token/check-token.ts'
import type { TokenFault } from './token/types.ts'

export function mcpAuthentication(
  config: McpAuthenticationConfig,
  identity: Identity,
  roots: RootForms,
): Policy {
  const paths = new OAuthPaths(config, identity, roots)
  const unauthorized = (description: string, fault: TokenFault | null) =>
    replyOf(
      401,
      [
        ['www-authenticate', challengeOf(config, fault)],
        ['content-type', 'application/json'],
      ],
      JSON.stringify({ error: 'unauthorized', error_description: description }),
    )
  const check: TokenCheck = {
    mode: config.mode,
    location: config.location,
    verifier: identity.verifier(config, providerOf(config).keysUrl(config.issuer)),
    missing: () => unauthorized('JWT token required', null),
    invalid: (_exchange, fault) => unauthorized(`JWT token is not valid: ${fault}`, fault),
    unavailable: () =>
      replyOf(
        503,
        [['content-type', 'application/json']],
        JSON.stringify({
          error: 'temporarily_unavailable',
          error_description: 'the keys to check tokens by cannot be had now',
        }),
      ),
  }
  return {
    kind: 'mcpAuthentication',
    request: (exchange) => paths.answer(exchange) ?? checkToken(check, exchange),
  }
}
