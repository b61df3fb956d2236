// Complete logins of real clients through the gateway: the 401, both metadata documents, registration, the browser, the
// token endpoint and the tools. The table of which client can log in where is also in docs/authentication.md.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { initialize } from '../../support/idp/ask-mcp.ts'
import { browse } from '../../support/idp/browser.ts'
import { CALLBACK } from '../../support/idp/double.ts'
import type { Double } from '../../support/idp/double.ts'
import type { Guarded } from '../../support/idp/guarded.ts'
import { guardedFor, guarding, realmSetting, tenantSetting } from '../../support/idp/guarding.ts'
import { logInOpenid } from '../../support/idp/login-openid.ts'
import { logInV1, logInV2 } from '../../support/idp/logins.ts'
import type { LogIn } from '../../support/idp/logins.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { CLIENT_ID, TenantDouble } from '../../support/idp/tenant-double.ts'
import type { Browse } from '../../support/idp/wallet.ts'

const logins = suite('logins')

const TOOLS = ['echo', 'add', 'time', 'slow_count']
const HOUR = 3_600

const keys = await SigningKeys.create()
const atBrowser: Browse = (url) => browse(url, CALLBACK)

type Client = 'SDK v1' | 'client v2' | 'client v2, code only' | 'openid-client' | 'as OpenID'
/** `in`, or the name of the error from the client's check of the issuer. */
type Outcome = 'in' | 'IssuerMismatchError' | 'OAUTH_INVALID_RESPONSE'

const CLIENTS: Readonly<Record<Client, (url: URL) => Promise<string[]>>> = {
  'SDK v1': toolsBy(logInV1),
  'client v2': toolsBy(logInV2('whole')),
  'client v2, code only': toolsBy(logInV2('code')),
  'openid-client': async (url) => (await logInOpenid(url, atBrowser, 'oauth2')).tools(),
  'as OpenID': async (url) => (await logInOpenid(url, atBrowser, 'oidc')).tools(),
}

const ALL_IN: Readonly<Record<Client, Outcome>> = {
  'SDK v1': 'in',
  'client v2': 'in',
  'client v2, code only': 'in',
  'openid-client': 'in',
  'as OpenID': 'in',
}

/** A realm puts its own issuer into every callback, which is not the issuer of the gateway (RFC 9207). */
const REALM_BY_GATEWAY: Readonly<Record<Client, Outcome>> = {
  ...ALL_IN,
  'client v2': 'IssuerMismatchError',
  'openid-client': 'OAUTH_INVALID_RESPONSE',
  'as OpenID': 'OAUTH_INVALID_RESPONSE',
}

/** The realm also announces this in its metadata, so a client that drops the issuer must stop. */
const REALM_ITSELF: Readonly<Record<Client, Outcome>> = {
  ...ALL_IN,
  'client v2, code only': 'IssuerMismatchError',
}

function toolsBy(logIn: LogIn): (url: URL) => Promise<string[]> {
  return async (url) => {
    const client = await logIn(url, atBrowser)
    try {
      return await client.tools()
    } finally {
      await client.close()
    }
  }
}

async function outcomes(url: URL): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [name, logIn] of Object.entries(CLIENTS))
    found[name] = await logIn(url).then(
      (tools) => (String(tools) === String(TOOLS) ? 'in' : `in, with ${String(tools)}`),
      (error: Error & { code?: string }) => nameOf(error),
    )
  return found
}

function nameOf({ name, code, message }: Error & { code?: string }): string {
  if (name === 'IssuerMismatchError') return name
  return code === 'OAUTH_INVALID_RESPONSE' ? code : `${name}: ${message}`
}

const withRealm = guardedFor(logins, () => RealmDouble.start(keys), realmSetting())
const withTenant = guardedFor(logins, () => TenantDouble.start({}, keys), tenantSetting())

logins('at a realm through the gateway', async () => {
  await withRealm(async ({ url }) => {
    assert.equal(await outcomes(url), REALM_BY_GATEWAY)
  })
})

logins('at the realm itself', async () => {
  const setting = realmSetting({ layout: 'listener' }, { issuerMode: 'provider' })
  await guarding(RealmDouble.start(keys), setting, async ({ url }) => {
    assert.equal(await outcomes(url), REALM_ITSELF)
  })
})

logins('at a tenant, with a web client and v2 tokens', async () => {
  await withTenant(async ({ url }) => assert.equal(await outcomes(url), ALL_IN))
})

logins('at a tenant, with a public client and v1 tokens', async () => {
  const tenant = TenantDouble.start({ platform: 'public', version: 'v1' }, keys)
  await guarding(tenant, tenantSetting({ layout: 'listener' }), async ({ url }) => {
    assert.equal(await outcomes(url), ALL_IN)
  })
})

logins('requests the scopes of the resource metadata', async () => {
  const scopes = [`api://${CLIENT_ID}/mcp`, 'offline_access']
  const setting = tenantSetting({ scopes, layout: 'listener' })
  await guarding(TenantDouble.start({}, keys), setting, async ({ url }) => {
    const client = await logInV1(url, atBrowser)
    assert.is(client.wallet.authorizationUrl?.searchParams.get('scope'), scopes.join(' '))
    assert.equal(await client.tools(), TOOLS)
    await client.close()
  })
})

const REFRESHING: [string, LogIn][] = [
  ['SDK v1', logInV1],
  ['client v2', logInV2('code')],
]

for (const [name, logIn] of REFRESHING)
  for (const provider of ['realm', 'tenant'] as const)
    logins(`${name} refreshes a token of a ${provider} when it has expired`, async () => {
      const use = async ({ url }: Guarded, double: Double): Promise<void> => {
        const client = await logIn(url, atBrowser)
        const { wallet } = client
        const now = Math.floor(Date.now() / 1000)
        const old = await double.token({ iat: now - 2 * HOUR, exp: now - HOUR })
        wallet.current = { ...wallet.current!, access_token: old }
        assert.is(await client.echo('still here'), 'still here')
        assert.is.not(wallet.current.access_token, old)
        assert.is(wallet.logins, 1)
        await client.close()
      }
      if (provider === 'realm') await withRealm(use)
      else await withTenant(use)
    })

logins('openid-client refreshes a token of a tenant', async () => {
  await withTenant(async ({ url }) => {
    const client = await logInOpenid(url, atBrowser, 'oauth2')
    const token = await client.refresh()
    assert.is.not(token, client.token)
    assert.is((await initialize(url, token)).status, 200)
  })
})

logins.run()
