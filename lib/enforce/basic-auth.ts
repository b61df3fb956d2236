// basicAuth: user names and passwords.

import type { BasicAuthConfig } from '../base/config/auth-types.ts'
import type { Policy } from '../base/types.ts'

export function basicAuth(_config: BasicAuthConfig): Policy {
  throw new Error('not written yet')
}
