// Identity providers that rotate keys during traffic, that are down when the gateway starts, and that go down later.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, initialize, checkAccess, tools } from '../../support/idp/ask-mcp.ts'
import { Guarded } from '../../support/idp/guarded.ts'
import { guarding, realmSetting, tenantSetting } from '../../support/idp/guarding.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { TenantDouble } from '../../support/idp/tenant-double.ts'
import { until } from '../../support/idp/until.ts'

const outages = suite('outages of providers')

/** The gateway requests keys again within this time, and sooner after a failure. */
const COOLDOWN_MS = 45_000
const RETRY_MS = 15_000

const REALM_KEYS = '/realms/test/protocol/openid-connect/certs'
const SERVER = '/.well-known/oauth-authorization-server/mcp'

const keys = await SigningKeys.create()

outages('starts without its provider, and serves once the provider is up', async () => {
  const realm = await RealmDouble.start(keys)
  await realm.down()
  const guarded = await Guarded.start(realmSetting()(realm))
  try {
    const token = await realm.token()
    const refused = await initialize(guarded.url, token)
    assert.is(refused.status, 503)
    assert.match(refused.text, /"error":"temporarily_unavailable"/)
    assert.is((await ask(guarded.url, { method: 'POST' })).status, 401)

    const missing = await ask(guarded.at(SERVER))
    assert.is(missing.status, 502)
    assert.match(missing.text, /the identity provider failed/)
    const resource = await ask(guarded.at('/.well-known/oauth-protected-resource/mcp'))
    assert.is(resource.status, 200)
    const registered = await ask(guarded.at(`${SERVER}/client-registration`), {
      method: 'POST',
      body: '{}',
    })
    assert.is(registered.status, 502)

    await realm.up()
    await until(
      () => checkAccess(guarded.url, token),
      (status) => status === 'admitted',
      RETRY_MS,
    )
    await until(
      async () => (await ask(guarded.at(SERVER))).status,
      (status) => status === 200,
      RETRY_MS,
    )
  } finally {
    await guarded.stop()
    await realm.down()
  }
})

outages('keeps the last valid keys and documents while its provider is down', async () => {
  await guarding(RealmDouble.start(keys), realmSetting(), async (guarded, realm) => {
    const known = await realm.token()
    assert.is(await checkAccess(guarded.url, known), 'admitted')
    assert.is((await ask(guarded.at(SERVER))).status, 200)
    await realm.down()
    assert.is(await checkAccess(guarded.url, known), 'admitted')
    assert.is(await checkAccess(guarded.url, await realm.token({ sub: 'another' })), 'admitted')
    assert.is((await ask(guarded.at(SERVER))).status, 200)
    const { status, text } = await ask(guarded.at(`${SERVER}/client-registration`), {
      method: 'POST',
      body: '{}',
    })
    assert.is(status, 502)
    assert.match(text, /the identity provider failed/)
  })
})

outages('answers token requests while the tenant is down', async () => {
  await guarding(TenantDouble.start({}, keys), tenantSetting(), async (guarded, tenant) => {
    await tenant.down()
    const { status, text } = await ask(guarded.at(`${SERVER}/token`), {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'refresh_token' }),
    })
    assert.is(status, 502)
    assert.match(text, /"error":"temporarily_unavailable"/)
  })
})

outages('fetches a new key when a token names it, and keeps serving meanwhile', async () => {
  const own = await SigningKeys.create()
  await guarding(RealmDouble.start(own), realmSetting(), async (guarded, realm) => {
    const before = await realm.token()
    assert.is(await checkAccess(guarded.url, before), 'admitted')
    await realm.rotate('keep')
    const after = await realm.token()
    // The old token is always valid; the new one as soon as the gateway may request keys again.
    await until(
      async () => [await checkAccess(guarded.url, before), await checkAccess(guarded.url, after)],
      ([old, fresh]) => {
        assert.is(old, 'admitted')
        return fresh === 'admitted'
      },
      COOLDOWN_MS,
    )
    assert.equal(await tools(guarded.url, after), ['echo', 'add', 'time', 'slow_count'])
    assert.match(await guarded.dump(), /"key-2"/)
  })
})

outages('limits requests for keys, even if every token names an unknown key', async () => {
  const unknownKeys = await SigningKeys.create()
  await unknownKeys.rotate('remove')
  await guarding(RealmDouble.start(keys), realmSetting(), async (guarded, realm) => {
    assert.is(await checkAccess(guarded.url, await realm.token()), 'admitted')
    const forged = { iss: realm.issuer, aud: realm.audience, exp: 4_000_000_000 }
    for (let at = 0; at < 50; at++)
      assert.is(await checkAccess(guarded.url, await unknownKeys.sign({ ...forged, at })), 401)
    assert.ok(realm.host.count(REALM_KEYS) <= 2)
  })
})

outages.run()
