// jwtAuth: bearer tokens.

import type { JwtAuthConfig } from '../base/config/auth-types.ts'
import type { Policy } from '../base/types.ts'
import type { Identity } from './identity.ts'

export function jwtAuth(_config: JwtAuthConfig, _identity: Identity): Policy {
  throw new Error('not written yet')
}
