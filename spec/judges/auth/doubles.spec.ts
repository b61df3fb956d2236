// The doubles of the two identity providers behave as spec.md describes the real ones, so that the adaptations of the
// gateway are needed and tested.

import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as openid from 'openid-client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../../support/idp/ask-mcp.ts'
import { browse } from '../../support/idp/browser.ts'
import { CALLBACK } from '../../support/idp/double.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { CLIENT_ID, CLIENT_SECRET, TENANT, TenantDouble } from '../../support/idp/tenant-double.ts'
import type { TenantOptions } from '../../support/idp/tenant-double.ts'

const doubles = suite('identity provider doubles')

const PUBLIC = { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }
const GRANTS = ['authorization_code', 'refresh_token']
const INSECURE = { execute: [openid.allowInsecureRequests] }

const shared = await SigningKeys.create()

async function withRealm(use: (realm: RealmDouble) => Promise<void>, keys = shared): Promise<void> {
  const realm = await RealmDouble.start(keys)
  try {
    await use(realm)
  } finally {
    await realm.down()
  }
}

async function withTenant(
  options: Partial<TenantOptions>,
  use: (tenant: TenantDouble) => Promise<void>,
): Promise<void> {
  const tenant = await TenantDouble.start(options, shared)
  try {
    await use(tenant)
  } finally {
    await tenant.down()
  }
}

async function register(realm: RealmDouble): Promise<openid.Configuration> {
  const metadata = { ...PUBLIC, grant_types: GRANTS }
  return openid.dynamicClientRegistration(new URL(realm.issuer), metadata, openid.None(), INSECURE)
}

/** The only client of a tenant; it reads the endpoints from the tenant's own metadata. */
async function known(tenant: TenantDouble, secret = ''): Promise<openid.Configuration> {
  const server = new URL(`${tenant.host.origin}/${TENANT}/v2.0`)
  const proof = secret === '' ? openid.None() : openid.ClientSecretPost(secret)
  return openid.discovery(server, CLIENT_ID, PUBLIC, proof, INSECURE)
}

async function logIn(config: openid.Configuration, extra: Record<string, string> = {}) {
  const verifier = openid.randomPKCECodeVerifier()
  const authorization = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: 'openid mcp',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...extra,
  })
  const callback = await browse(authorization, CALLBACK)
  const checks = { pkceCodeVerifier: verifier }
  const tokens = await openid.authorizationCodeGrant(config, callback, checks, extra)
  return { callback, tokens }
}

async function failureOf(promise: Promise<unknown>): Promise<openid.ResponseBodyError> {
  const error: unknown = await promise.then(
    () => assert.unreachable('it did not fail'),
    (reason: unknown) => reason,
  )
  assert.instance(error, openid.ResponseBodyError)
  return error as openid.ResponseBodyError
}

doubles('a realm registers any client and logs in its user', async () => {
  await withRealm(async (realm) => {
    const { callback, tokens } = await logIn(await register(realm))
    assert.is(callback.searchParams.get('iss'), realm.issuer)
    const claims = decodeJwt(tokens.access_token)
    assert.is(claims.iss, realm.issuer)
    assert.equal(claims.realm_access, { roles: ['default-roles-test', 'mcp-user'] })
    assert.equal(decodeProtectedHeader(tokens.access_token), {
      alg: 'RS256',
      typ: 'JWT',
      kid: 'key-1',
    })
  })
})

doubles('a realm ignores resource indicators and sets its own audience', async () => {
  await withRealm(async (realm) => {
    const { tokens } = await logIn(await register(realm), { resource: 'https://elsewhere.example' })
    assert.is(decodeJwt(tokens.access_token).aud, realm.audience)
  })
})

doubles('a realm requires PKCE', async () => {
  await withRealm(async (realm) => {
    const authorization = openid.buildAuthorizationUrl(await register(realm), {
      redirect_uri: CALLBACK,
    })
    const callback = await browse(authorization, CALLBACK)
    assert.is(callback.searchParams.get('error'), 'invalid_request')
  })
})

doubles('a realm with trusted hosts refuses a registration', async () => {
  await withRealm(async (realm) => {
    realm.trusts = 'no'
    const error = await failureOf(register(realm))
    assert.is(error.status, 403)
    assert.match(error.error_description ?? '', "Policy 'Trusted Hosts' rejected request")
  })
})

doubles('refreshes a token, and signs with the new key after a rotation', async () => {
  await withRealm(
    async (realm) => {
      const config = await register(realm)
      const { tokens } = await logIn(config)
      await realm.rotate('keep')
      const again = await openid.refreshTokenGrant(config, tokens.refresh_token!)
      assert.is(decodeProtectedHeader(again.access_token).kid, 'key-2')
      const { text } = await ask(`${realm.issuer}/protocol/openid-connect/certs`)
      const { keys } = JSON.parse(text) as { keys: { kid: string; d?: string }[] }
      assert.equal(
        keys.map(({ kid, d }) => ({ kid, d })),
        [
          { kid: 'key-2', d: undefined },
          { kid: 'key-1', d: undefined },
        ],
      )
      await realm.rotate('remove')
      assert.equal(realm.keys.kids, ['key-3'])
    },
    await SigningKeys.create(),
  )
})

doubles('logs in the current user of the browser', async () => {
  await withRealm(async (realm) => {
    realm.user = 'bob'
    const { tokens } = await logIn(await register(realm))
    assert.is(decodeJwt(tokens.access_token).sub, 'bob')
  })
})

doubles('starts again at the same address, and keeps its clients', async () => {
  await withRealm(async (realm) => {
    const config = await register(realm)
    await realm.down()
    const gone = await ask(realm.issuer).then(
      () => 'still there',
      () => 'gone',
    )
    assert.is(gone, 'gone')
    await realm.up()
    const { tokens } = await logIn(config)
    assert.is(decodeJwt(tokens.access_token).iss, realm.issuer)
  })
})

doubles('a tenant has no registration and names no PKCE methods', async () => {
  await withTenant({}, async (tenant) => {
    const metadata = (await known(tenant)).serverMetadata()
    assert.is(metadata.registration_endpoint, undefined)
    assert.is(metadata.code_challenge_methods_supported, undefined)
  })
})

for (const version of ['v1', 'v2'] as const)
  doubles(`a tenant issues ${version} tokens, and no iss with the callback`, async () => {
    await withTenant({ version }, async (tenant) => {
      const { callback, tokens } = await logIn(await known(tenant, CLIENT_SECRET))
      assert.is(callback.searchParams.get('iss'), null)
      const { iss, aud, roles } = decodeJwt(tokens.access_token)
      const isV1 = version === 'v1'
      assert.is(iss, `${tenant.host.origin}/${TENANT}/${isV1 ? '' : 'v2.0'}`)
      assert.is(aud, isV1 ? `api://${CLIENT_ID}` : CLIENT_ID)
      assert.equal(roles, ['mcp-user'])
    })
  })

doubles('a tenant rejects resource at both endpoints', async () => {
  await withTenant({ platform: 'public' }, async (tenant) => {
    const config = await known(tenant)
    const authorization = openid.buildAuthorizationUrl(config, { resource: 'https://mcp.example' })
    const refused = await ask(authorization)
    assert.is(refused.status, 400)
    assert.match(refused.text, /"error":"invalid_target".*AADSTS9010010/)

    const { tokens } = await logIn(config)
    const resource = 'https://mcp.example'
    const again = openid.refreshTokenGrant(config, tokens.refresh_token!, { resource })
    const error = await failureOf(again)
    assert.is(error.error, 'invalid_target')
    assert.match(error.error_description ?? '', 'AADSTS9010010')
  })
})

doubles('a tenant requires the secret of a web application', async () => {
  await withTenant({ platform: 'web' }, async (tenant) => {
    const error = await failureOf(logIn(await known(tenant)))
    assert.is(error.error, 'invalid_client')
    assert.match(error.error_description ?? '', 'AADSTS7000218')
  })
})

doubles('a tenant refuses a secret from a public client', async () => {
  await withTenant({ platform: 'public' }, async (tenant) => {
    const error = await failureOf(logIn(await known(tenant, CLIENT_SECRET)))
    assert.is(error.error, 'invalid_client')
    assert.match(error.error_description ?? '', 'AADSTS700025')
  })
})

doubles('a tenant refuses codes that come from a web page', async () => {
  await withTenant({}, async (tenant) => {
    const url = `${tenant.host.origin}/${TENANT}/oauth2/v2.0/token`
    const headers = { origin: 'https://page.example' }
    const body = new URLSearchParams({ grant_type: 'authorization_code' })
    assert.match((await ask(url, { method: 'POST', headers, body })).text, 'AADSTS9002326')
  })
})

doubles.run()
