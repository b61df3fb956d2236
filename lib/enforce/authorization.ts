// authorization: rules over who asks and what for. Denied is 403, with a challenge where a scope would help.

import type { AuthorizationConfig, McpAuthenticationConfig } from '../base/config/auth-types.ts'
import type { Policy } from '../base/types.ts'

/** `mcp` is the authentication in front of it, whose clients can ask for more scopes. */
export function authorization(
  _config: AuthorizationConfig,
  _mcp: McpAuthenticationConfig | null,
): Policy {
  throw new Error('not written yet')
}
