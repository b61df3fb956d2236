// Providers that change their keys while requests flow, that are not there when the gateway starts, and that go away.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, initialize, knock, tools } from '../../support/idp/ask-mcp.ts'
import { Guarded } from '../../support/idp/guarded.ts'
import { guarding, realmSetting, tenantSetting } from '../../support/idp/guarding.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { TenantDouble } from '../../support/idp/tenant-double.ts'
import { until } from '../../support/idp/until.ts'

const outages = suite('providers that come and go')

/** The gateway asks again for keys within this, and within less after a failure. */
const COOLDOWN_MS = 45_000
const RETRY_MS = 15_000

const REALM_KEYS = '/realms/test/protocol/openid-connect/certs'
const SERVER = '/.well-known/oauth-authorization-server/mcp'

const keys = await SigningKeys.create()

outages('starts without its provider, and serves once that is there', async () => {
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
      () => knock(guarded.url, token),
      (status) => status === 'let in',
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

outages('goes on with the last good keys and documents when its provider goes away', async () => {
  await guarding(RealmDouble.start(keys), realmSetting(), async (guarded, realm) => {
    const known = await realm.token()
    assert.is(await knock(guarded.url, known), 'let in')
    assert.is((await ask(guarded.at(SERVER))).status, 200)
    await realm.down()
    assert.is(await knock(guarded.url, known), 'let in')
    assert.is(await knock(guarded.url, await realm.token({ sub: 'another' })), 'let in')
    assert.is((await ask(guarded.at(SERVER))).status, 200)
    const { status, text } = await ask(guarded.at(`${SERVER}/client-registration`), {
      method: 'POST',
      body: '{}',
    })
    assert.is(status, 502)
    assert.match(text, /the identity provider failed/)
  })
})

outages('answers for a tenant that does not', async () => {
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

outages('takes a new key as soon as a token names it, and keeps serving meanwhile', async () => {
  const own = await SigningKeys.create()
  await guarding(RealmDouble.start(own), realmSetting(), async (guarded, realm) => {
    const before = await realm.token()
    assert.is(await knock(guarded.url, before), 'let in')
    await realm.rotate('beside')
    const after = await realm.token()
    // The old token is good all the time; the new one as soon as the gateway may ask for keys again.
    await until(
      async () => [await knock(guarded.url, before), await knock(guarded.url, after)],
      ([old, fresh]) => {
        assert.is(old, 'let in')
        return fresh === 'let in'
      },
      COOLDOWN_MS,
    )
    assert.equal(await tools(guarded.url, after), ['echo', 'add', 'time', 'slow_count'])
    assert.match(await guarded.dump(), /"key-2"/)
  })
})

outages('asks for keys only now and then, whatever keys tokens name', async () => {
  const strangers = await SigningKeys.create()
  await strangers.rotate('instead')
  await guarding(RealmDouble.start(keys), realmSetting(), async (guarded, realm) => {
    assert.is(await knock(guarded.url, await realm.token()), 'let in')
    const forged = { iss: realm.issuer, aud: realm.audience, exp: 4_000_000_000 }
    for (let at = 0; at < 50; at++)
      assert.is(await knock(guarded.url, await strangers.sign({ ...forged, at })), 401)
    assert.ok(realm.host.count(REALM_KEYS) <= 2)
  })
})

outages.run()
