import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  auth0Provider,
  genericProvider,
  realmProvider,
  tenantProvider,
} from '../../../lib/enforce/oauth/providers.ts'

const providers = suite('providers')

providers('a realm has its URLs below its issuer, with or without a trailing slash', () => {
  for (const issuer of ['http://idp:8080/realms/r', 'http://idp:8080/realms/r/']) {
    assert.is(
      realmProvider.keysUrl(issuer),
      'http://idp:8080/realms/r/protocol/openid-connect/certs',
    )
    assert.equal(realmProvider.discoveryUrls(issuer), [
      'http://idp:8080/realms/r/.well-known/openid-configuration',
    ])
    assert.is(realmProvider.endpoints(issuer), null)
  }
})

providers('a realm may name its registration endpoint, but only with its own origin', () => {
  const issuer = 'https://idp.example/realms/r'
  const usual = `${issuer}/clients-registrations/openid-connect`
  const to = (written: unknown): string | null =>
    realmProvider.registrationUrl({ registration_endpoint: written }, issuer)
  assert.is(to('https://idp.example/other/register'), 'https://idp.example/other/register')
  for (const written of [
    undefined,
    1,
    '',
    '/relative',
    'http://idp.example/realms/r/register',
    'https://idp.example:444/register',
    'https://idp.example.evil.example/register',
    'https://idp.example@evil.example/register',
  ])
    assert.is(to(written), usual, String(written))
})

providers('a tenant is the first part of the path of either issuer', () => {
  for (const [issuer, base] of [
    ['https://login.microsoftonline.com/t1/v2.0', 'https://login.microsoftonline.com/t1'],
    ['https://sts.windows.net/t1/', 'https://login.microsoftonline.com/t1'],
    ['https://login.partner.example/t1/v2.0', 'https://login.partner.example/t1'],
    ['http://127.0.0.1:8080/t1/v2.0', 'http://127.0.0.1:8080/t1'],
    ['https://mirror.example:8443//t1/', 'https://mirror.example:8443/t1'],
  ] as const) {
    assert.is(tenantProvider.keysUrl(issuer), `${base}/discovery/v2.0/keys`)
    assert.equal(tenantProvider.discoveryUrls(issuer), [
      `${base}/v2.0/.well-known/openid-configuration`,
    ])
    assert.equal(tenantProvider.endpoints(issuer), {
      authorize: `${base}/oauth2/v2.0/authorize`,
      token: `${base}/oauth2/v2.0/token`,
    })
    assert.is(
      tenantProvider.registrationUrl({ registration_endpoint: `${base}/register` }, issuer),
      null,
    )
  }
})

providers('a generic provider has the usual URLs', () => {
  assert.is(
    genericProvider.keysUrl('https://idp.example/'),
    'https://idp.example/.well-known/jwks.json',
  )
  assert.equal(genericProvider.discoveryUrls('https://idp.example/a/'), [
    'https://idp.example/.well-known/oauth-authorization-server/a',
    'https://idp.example/a/.well-known/openid-configuration',
  ])
  assert.equal(genericProvider.discoveryUrls('https://idp.example'), [
    'https://idp.example/.well-known/oauth-authorization-server',
    'https://idp.example/.well-known/openid-configuration',
  ])
  assert.is(
    auth0Provider.keysUrl('https://t.auth0.example/'),
    'https://t.auth0.example/.well-known/jwks.json',
  )
})

providers.run()
