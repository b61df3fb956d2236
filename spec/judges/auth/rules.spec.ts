// Authorization rules after a login: rules on the roles that both kinds of provider put into their tokens.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { initialize, checkAccess } from '../../support/idp/ask-mcp.ts'
import { browse } from '../../support/idp/browser.ts'
import { CALLBACK } from '../../support/idp/double.ts'
import type { Double } from '../../support/idp/double.ts'
import type { Guarded } from '../../support/idp/guarded.ts'
import { guarding, realmSetting, tenantSetting } from '../../support/idp/guarding.ts'
import { logInV1 } from '../../support/idp/logins.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { TenantDouble } from '../../support/idp/tenant-double.ts'
import type { Browse } from '../../support/idp/wallet.ts'

const rules = suite('rules after a login')

const REALM_ROLE = '"mcp-user" in jwt.realm_access.roles'
const TENANT_ROLE = '"mcp-user" in jwt.roles'

const keys = await SigningKeys.create()
const atBrowser: Browse = (url) => browse(url, CALLBACK)

async function admitsAdaOnly({ url }: Guarded, double: Double): Promise<void> {
  const ada = await logInV1(url, atBrowser)
  assert.is(await ada.echo('ada'), 'ada')
  await ada.close()

  double.user = 'bob'
  const failure = await logInV1(url, atBrowser).then(
    () => 'admitted',
    (error: Error) => error.message,
  )
  assert.match(failure, /authorization failed/)

  const refused = await initialize(url, await double.token())
  assert.is(refused.status, 403)
  assert.is(refused.headers.get('content-type'), 'text/plain')
  assert.is(refused.headers.get('www-authenticate'), null)
  assert.is(refused.text, 'authorization failed')
}

rules('jwt.realm_access.roles of a realm', async () => {
  await guarding(RealmDouble.start(keys), realmSetting({ rules: [REALM_ROLE] }), admitsAdaOnly)
})

rules('jwt.roles of a tenant', async () => {
  const setting = tenantSetting({ rules: [TENANT_ROLE], layout: 'listener' })
  await guarding(TenantDouble.start({}, keys), setting, admitsAdaOnly)
})

rules('all plain rules must match, and a missing claim matches none', async () => {
  const both = { rules: [REALM_ROLE, 'jwt.email_verified == true'] }
  await guarding(RealmDouble.start(keys), realmSetting(both), async ({ url }, realm) => {
    const accessWith = async (given: object): Promise<'admitted' | number> =>
      checkAccess(url, await realm.token({ ...given }))
    assert.is(await accessWith({ email_verified: true }), 'admitted')
    assert.is(await accessWith({ email_verified: false }), 403)
    assert.is(await accessWith({}), 403)
    assert.is(await accessWith({ email_verified: true, realm_access: 'mcp-user' }), 403)
    assert.is(await accessWith({ email_verified: true, realm_access: { roles: [] } }), 403)
  })
})

rules('metadata documents are served to clients that the rules refuse', async () => {
  await guarding(RealmDouble.start(keys), realmSetting({ rules: ['false'] }), async (guarded) => {
    for (const path of ['oauth-protected-resource/mcp', 'oauth-authorization-server/mcp'])
      assert.is((await fetch(guarded.at(`/.well-known/${path}`))).status, 200)
  })
})

rules.run()
