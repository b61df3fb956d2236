// backendAuth: the credential a backend wants, in place of the client's.

import type { BackendAuthConfig } from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'

export function backendAuth(_config: BackendAuthConfig): Policy {
  throw new Error('not written yet')
}
