// mcpAuthentication: bearer tokens.

import type { McpAuthenticationConfig } from '../base/config/auth-types.ts'
import type { Policy } from '../base/types.ts'
import type { Identity } from './identity.ts'

export function mcpAuthentication(_config: McpAuthenticationConfig, _identity: Identity): Policy {
  throw new Error('not written yet')
}
