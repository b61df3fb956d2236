// The adapter that a configuration names.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { auth0 } from './providers/auth0.ts'
import { plain } from './providers/plain.ts'
import { realm } from './providers/realm.ts'
import { tenant } from './providers/tenant.ts'
import type { Provider } from './types.ts'

const PROVIDERS: Readonly<Record<NonNullable<McpAuthenticationConfig['provider']>, Provider>> = {
  idp_realm: realm,
  idp_tenant: tenant,
  auth0,
}

export function providerOf({ provider }: McpAuthenticationConfig): Provider {
  return provider === null ? plain : PROVIDERS[provider]
}
