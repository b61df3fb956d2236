// A double and a gateway that trusts it, for as long as a test lasts.

import type { Double } from './double.ts'
import { Guarded } from './guarded.ts'
import type { Authentication, Setting } from './guarded.ts'
import type { RealmDouble } from './realm-double.ts'
import { CLIENT_ID, CLIENT_SECRET } from './tenant-double.ts'
import type { TenantDouble } from './tenant-double.ts'

export async function guarding<One extends Double>(
  starting: Promise<One>,
  settingOf: (double: One) => Setting,
  use: (guarded: Guarded, double: One) => Promise<void>,
): Promise<void> {
  const double = await starting
  let guarded: Guarded | null = null
  try {
    guarded = await Guarded.start(settingOf(double))
    await use(guarded, double)
  } finally {
    await guarded?.stop()
    await double.down()
  }
}

export function realmSetting(
  rest: Omit<Setting, 'authentication'> = {},
  fields: Partial<Authentication> = {},
): (realm: RealmDouble) => Setting {
  return ({ issuer, audience }) => ({
    authentication: { issuer, audiences: [audience], provider: { idp_realm: {} }, ...fields },
    ...rest,
  })
}

/** With the secret of the operator's application where it has one. */
export function tenantSetting(
  rest: Omit<Setting, 'authentication'> = {},
): (tenant: TenantDouble) => Setting {
  return ({ issuer, audience, platform }) => ({
    authentication: {
      issuer,
      audiences: [audience],
      provider: { idp_tenant: {} },
      clientId: CLIENT_ID,
      ...(platform === 'web' ? { clientSecret: CLIENT_SECRET } : {}),
    },
    ...rest,
  })
}
