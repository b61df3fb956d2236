// A provider double and a gateway that trusts it, for one test or for a whole suite.

import type { Test } from 'uvu'
import type { Double } from './double.ts'
import { Guarded } from './guarded.ts'
import type { Authentication, Setting } from './guarded.ts'
import type { RealmDouble } from './realm-double.ts'
import { CLIENT_ID, CLIENT_SECRET } from './tenant-double.ts'
import type { TenantDouble } from './tenant-double.ts'

type Use<One extends Double> = (guarded: Guarded, double: One) => Promise<void>

export async function guarding<One extends Double>(
  starting: Promise<One>,
  settingOf: (double: One) => Setting,
  use: Use<One>,
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

/** Both for a whole suite. They start with the first test that uses them: uvu drops what `before` throws. */
export function guardedFor<One extends Double>(
  judge: Test,
  start: () => Promise<One>,
  settingOf: (double: One) => Setting,
): (use: Use<One>) => Promise<void> {
  let starting: Promise<[Guarded, One]> | undefined
  const both = async (): Promise<[Guarded, One]> => {
    const double = await start()
    try {
      return [await Guarded.start(settingOf(double)), double]
    } catch (error) {
      await double.down()
      throw error
    }
  }
  judge.after(async () => {
    const started = await starting?.catch(() => null)
    await started?.[0].stop()
    await started?.[1].down()
  })
  return async (use) => {
    starting ??= both()
    await use(...(await starting))
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

/** With the client secret, if the application of the operator has one. */
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
