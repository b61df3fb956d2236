// apiKey: keys that are known by heart.

import type { ApiKeyConfig } from '../base/config/auth-types.ts'
import type { Policy } from '../base/types.ts'

export function apiKey(_config: ApiKeyConfig): Policy {
  throw new Error('not written yet')
}
