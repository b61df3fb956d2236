// Attacks on authentication: forged and stolen tokens, sessions of other users, and metadata changed by the host headers of
// a request.

import { SignJWT, UnsecuredJWT, exportJWK, exportSPKI, generateKeyPair, importJWK } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, inSession, initialize, checkAccess } from '../../support/idp/ask-mcp.ts'
import type { Guarded } from '../../support/idp/guarded.ts'
import { guardedFor, realmSetting, tenantSetting } from '../../support/idp/guarding.ts'
import { sendRawRequest } from '../../support/idp/raw-request.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { TenantDouble } from '../../support/idp/tenant-double.ts'

const attacks = suite('attacks on a protected MCP server')

const EVIL = 'evil.example'
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
const POSTED = [
  ['content-type', 'application/json'],
  ['accept', 'application/json, text/event-stream'],
] as const

const keys = await SigningKeys.create()

const withRealm = guardedFor(attacks, () => RealmDouble.start(keys), realmSetting())
const withTenant = guardedFor(attacks, () => TenantDouble.start({}, keys), tenantSetting())

/** The error description in the challenge. */
async function faultOf({ url }: Guarded, token: string): Promise<string> {
  const { status, headers, text } = await initialize(url, token)
  const challenge = headers.get('www-authenticate') ?? ''
  assert.is(status, 401, text)
  assert.match(challenge, 'error="invalid_token"')
  assert.match(challenge, 'resource_metadata="')
  assert.not.match(challenge + text, token.slice(0, 40))
  return /error_description="the token is not valid: ([^"]*)"/.exec(challenge)?.[1] ?? challenge
}

attacks('refuses tokens with another signer, issuer, audience or time', async () => {
  const foreign = await SigningKeys.create()
  await withRealm(async (guarded, realm) => {
    const now = Math.floor(Date.now() / 1000)
    const own = { iss: realm.issuer, aud: realm.audience, sub: 'eve', exp: now + 300 }
    const faults = {
      'keys of another realm under the same name': await foreign.sign(own),
      'another issuer': await realm.token({ iss: `${realm.issuer}/` }),
      'the issuer in other letters': await realm.token({ iss: realm.issuer.toUpperCase() }),
      'another audience': await realm.token({ aud: 'account' }),
      'the resource as audience': await realm.token({ aud: guarded.url.href }),
      'part of the audience': await realm.token({ aud: realm.audience.slice(0, -1) }),
      'no audience': await realm.token({ aud: [] }),
      expired: await realm.token({ exp: now - 61 }),
      'not yet': await realm.token({ nbf: now + 120 }),
      'no end': await keys.sign({ iss: own.iss, aud: own.aud, sub: 'eve' }),
      'an end that is text': await realm.token({ exp: '4000000000' as unknown as number }),
    }
    const reported: Record<string, string> = {}
    for (const [name, token] of Object.entries(faults))
      reported[name] = await faultOf(guarded, token)
    assert.equal(reported, {
      'keys of another realm under the same name': 'signature',
      'another issuer': 'issuer',
      'the issuer in other letters': 'issuer',
      'another audience': 'audience',
      'the resource as audience': 'audience',
      'part of the audience': 'audience',
      'no audience': 'audience',
      expired: 'expired',
      'not yet': 'not valid yet',
      'no end': 'missing claim',
      'an end that is text': 'malformed',
    })
    assert.is(
      await checkAccess(guarded.url, await realm.token({ aud: ['x', realm.audience] })),
      'admitted',
    )
  })
})

attacks('refuses other algorithms, other keys, and keys inside a token', async () => {
  await withRealm(async (guarded, realm) => {
    const claims = { iss: realm.issuer, aud: realm.audience, sub: 'eve', exp: 4_000_000_000 }
    const [key] = keys.all
    const kid = key!.kid!
    const mine = await generateKeyPair('RS256', { extractable: true })
    const jwk = await exportJWK(mine.publicKey)
    // The public key, used as a shared secret.
    const { kty, n, e } = key!
    const known = await importJWK({ kty: kty!, n: n!, e: e! }, 'RS256')
    const pem = new TextEncoder().encode(
      await exportSPKI(known as Parameters<typeof exportSPKI>[0]),
    )
    const byMe = (header: object): Promise<string> =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(mine.privateKey)
    const faults = {
      none: new UnsecuredJWT(claims).encode(),
      'an HMAC by the public key': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid })
        .sign(pem),
      'its own key': await byMe({ jwk }),
      'a URL of keys': await byMe({ jku: `http://${EVIL}/keys` }),
      'a URL of certificates': await byMe({ x5u: `http://${EVIL}/cert` }),
      'a path as key': await byMe({ kid: '../../../../dev/null' }),
      'a query as key': await byMe({ kid: "' UNION SELECT 'x" }),
      'no key': await byMe({ kid: undefined }),
      'a critical extension': await byMe({ crit: ['exp'], exp: 1 }).catch(() => 'a.b.c'),
    }
    for (const [name, token] of Object.entries(faults))
      assert.match(
        await faultOf(guarded, token),
        /^(?:algorithm|malformed|signature|unknown key)$/,
        name,
      )
    const good = (await realm.token()).split('.')
    for (const token of [
      `${good[0]}.${good[1]}.`,
      `${good[0]}.${good[1]}`,
      `${good.join('.')}.x`,
      `${good[0]}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${good[2]}`,
      '..',
      'null',
    ])
      assert.match(await faultOf(guarded, token), /^(?:malformed|signature)$/)
  })
})

attacks('refuses very long tokens', async () => {
  await withRealm(async (guarded, realm) => {
    const long = await realm.token({ padding: 'x'.repeat(13_000) })
    assert.ok(long.length > 16_384)
    const refused = await initialize(guarded.url, long)
    assert.is(refused.status, 401)
    const longer = await initialize(guarded.url, 'x'.repeat(300_000)).catch(() => ({ status: 431 }))
    assert.is(longer.status, 431)
    assert.is(await checkAccess(guarded.url, await realm.token()), 'admitted')
  })
})

attacks('refuses a token outside of the Authorization header, or two of them', async () => {
  await withRealm(async ({ url }, realm) => {
    const token = await realm.token()
    const statusOf = async (
      headers: readonly (readonly [string, string])[],
      target = '/mcp',
    ): Promise<number> => {
      const request = { method: 'POST', target, headers: [...POSTED, ...headers], body: PING }
      return (await sendRawRequest(url, request)).status
    }
    const bearer = ['authorization', `Bearer ${token}`] as const
    assert.is(await statusOf([bearer]), 400)
    assert.is(await statusOf([['authorization', `bearer ${token}`]]), 400)
    assert.is(await statusOf([], `/mcp?access_token=${token}`), 401)
    assert.is(await statusOf([['cookie', `access_token=${token}`]]), 401)
    assert.is(await statusOf([['x-authorization', `Bearer ${token}`]]), 401)
    assert.is(await statusOf([['proxy-authorization', `Bearer ${token}`]]), 401)
    assert.is(await statusOf([bearer, bearer]), 401)
    assert.is(await statusOf([bearer, ['Authorization', 'Bearer x']]), 401)
    assert.is(await statusOf([['authorization', 'Basic eDp5'], bearer]), 401)
    assert.is(await statusOf([['authorization', `Bearer ${token}, Bearer ${token}`]]), 401)
    assert.is(await statusOf([['authorization', `Basic ${token}`]]), 401)
    assert.is(await statusOf([['authorization', token]]), 401)
    const form = { method: 'POST', target: '/mcp', body: `access_token=${token}` }
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const
    assert.is((await sendRawRequest(url, { ...form, headers })).status, 401)
  })
})

attacks('refuses paths that resemble those without authentication', async () => {
  await withRealm(async ({ url }) => {
    for (const target of [
      '/mcp/.well-known/../../mcp',
      '/.well-known/../mcp',
      '/.well-known/oauth-protected-resource/../../mcp',
      '/mcp?x=/.well-known/oauth-protected-resource',
      '/mcp#/.well-known/oauth-protected-resource',
      '/.well-known/other',
      '/mcp/client-registration',
      '/mcp/token',
    ]) {
      const request = { method: 'POST', target, headers: POSTED, body: PING }
      const { status, text } = await sendRawRequest(url, request)
      assert.ok([400, 401, 404, 405].includes(status), `${target}: ${status} ${text}`)
    }
  })
})

attacks('refuses the session of another user', async () => {
  await withRealm(async ({ url }, realm) => {
    const ada = await realm.token()
    const bob = await realm.token({ sub: 'bob' })
    const started = await initialize(url, ada)
    const session = started.headers.get('mcp-session-id') ?? ''
    assert.is.not(session, '')
    assert.is((await inSession(url, bob, session)).status, 404)
    const headers = { authorization: `Bearer ${bob}`, 'mcp-session-id': session }
    assert.is((await ask(url, { method: 'DELETE', headers })).status, 404)
    const listening = { ...headers, accept: 'text/event-stream' }
    assert.is((await ask(url, { headers: listening })).status, 404)
    const bare = { 'mcp-session-id': session }
    assert.is((await ask(url, { method: 'DELETE', headers: bare })).status, 401)
    const again = await realm.token({ jti: 'another token of hers' })
    assert.is((await inSession(url, again, session)).status, 200)
  })
})

const POISON: readonly (readonly (readonly [string, string])[])[] = [
  [['host', EVIL]],
  [['x-forwarded-host', EVIL]],
  [['x-forwarded-host', `127.0.0.1, ${EVIL}`]],
  [['x-forwarded-proto', `https://${EVIL}/`]],
  [['x-forwarded-port', `1@${EVIL}`]],
  [['x-forwarded-prefix', `//${EVIL}`]],
  [['x-original-host', EVIL]],
  [['x-original-url', `//${EVIL}/`]],
  [['forwarded', `for=1.2.3.4;host=${EVIL};proto=https`]],
  [['origin', `https://${EVIL}`]],
]

const DOCUMENTS = [
  '/mcp',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/mcp',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/mcp',
  '/mcp/.well-known/oauth-authorization-server',
  '/mcp/.well-known/openid-configuration',
]

for (const provider of ['realm', 'tenant'] as const)
  attacks(`no request header changes the metadata for a ${provider}`, async () => {
    const use = async ({ url }: Guarded): Promise<void> => {
      for (const target of DOCUMENTS)
        for (const headers of POISON) {
          const { headers: fields, text } = await sendRawRequest(url, { target, headers })
          const response = `${[...fields].join('\n')}\n${text}`
          const name = `${target} with ${String(headers)}: ${response}`
          assert.not.match(response, EVIL, name)
          assert.match(response, url.host, name)
        }
      const absolute = `http://${EVIL}/.well-known/oauth-protected-resource/mcp`
      assert.not.match((await sendRawRequest(url, { target: absolute })).text, EVIL)
    }
    if (provider === 'realm') await withRealm(use)
    else await withTenant(use)
  })

attacks('refuses a page with DNS rebinding, even with a valid token', async () => {
  await withRealm(async ({ url }, realm) => {
    const bearer = ['authorization', `Bearer ${await realm.token()}`] as const
    const from = async (...more: (readonly [string, string])[]): Promise<number> => {
      const headers = [...POSTED, bearer, ...more]
      return (await sendRawRequest(url, { method: 'POST', target: '/mcp', headers, body: PING }))
        .status
    }
    assert.is(await from(['host', EVIL]), 403)
    assert.is(await from(['host', EVIL], ['origin', `http://${EVIL}`]), 403)
    assert.is(await from(['origin', `http://${EVIL}`]), 403)
    assert.is(await from(), 400)
  })
})

attacks.run()
