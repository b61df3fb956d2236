import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { ask, protectedBy, SERVER } from './asking.ts'

const authorize = suite('authorize at a tenant')
const stage = new Stage()
authorize.after.each(() => stage.clear())

const PATH = `${SERVER}/authorize`
const TENANT = 'http://login.example:8080/t1/oauth2/v2.0/authorize'
const PKCE = 'code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256'
const FIELDS = 'issuer: "http://login.example:8080/t1/v2.0", provider: { idp_tenant: {} }'

/** The redirect location for a query. */
async function locationOf(query: string, ...fields: string[]): Promise<string | undefined> {
  const gateway = await stage.gateway(protectedBy(FIELDS))
  const { status, headers, body } = await ask(gateway, `GET ${PATH}${query}`, fields)
  assert.equal([status, body, headers['cache-control']], [302, '', 'no-store'])
  return headers['location']
}

authorize('redirects to the tenant without resource, and all else byte for byte', async () => {
  const kept =
    `response_type=code&client_id=abc&${PKCE}` +
    '&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&state=a%2Fb+c%20%7E!%27()*&scope=api://x/.default'
  assert.is(await locationOf(`?${kept}`), `${TENANT}?${kept}`)
  const resource = 'resource=https%3A%2F%2Fgateway.example%2Fmcp'
  assert.is(await locationOf(`?${resource}&${kept}`), `${TENANT}?${kept}`)
  assert.is(await locationOf(`?${kept}&${resource}&${resource}`), `${TENANT}?${kept}`)
  assert.is(await locationOf(`?${kept}&re%73ource=x&resource`), `${TENANT}?${kept}`)
})

authorize('refuses a login without exactly one S256 challenge', async () => {
  const gateway = await stage.gateway(protectedBy(FIELDS))
  const challenge = PKCE.slice(0, PKCE.indexOf('&'))
  for (const query of [
    '',
    '?',
    '?response_type=code&client_id=abc',
    `?${challenge}`,
    '?code_challenge_method=S256',
    `?${challenge}&code_challenge_method=plain`,
    `?${challenge}&code_challenge_method=s256`,
    `?${challenge}x&code_challenge_method=S256`,
    '?code_challenge=&code_challenge_method=S256',
    `?${PKCE}&code_challenge_method=plain`,
    `?${PKCE}&code%5Fchallenge%5Fmethod=plain`,
    `?${PKCE}&Code_Challenge=x`,
    `?${PKCE}&${challenge}`,
  ]) {
    const { status, headers, body } = await ask(gateway, `GET ${PATH}${query}`)
    assert.equal([status, headers['location']], [400, undefined], query)
    assert.is((JSON.parse(body) as { error: string }).error, 'invalid_request', query)
  }
})

authorize('redirects nowhere else, for any query', async () => {
  for (const query of [
    'redirect_uri=https://evil.example',
    '//evil.example',
    '@evil.example/',
    'issuer=https://evil.example&authorization_endpoint=https://evil.example',
    'state=%0d%0alocation:%20https://evil.example%0d%0a%0d%0a<script>',
    '?https://evil.example',
  ]) {
    const location = await locationOf(
      `?${PKCE}&${query}`,
      'host: evil.example',
      'x-forwarded-host: evil.example',
      'referer: https://evil.example/',
    )
    assert.is(location, `${TENANT}?${PKCE}&${query}`)
    assert.is(new URL(location!).host, 'login.example:8080')
  }
})

authorize('rejects a query that contains a line break', async () => {
  const gateway = await stage.gateway(protectedBy(FIELDS))
  const { status, headers } = await ask(gateway, `GET ${PATH}?state=a\r\nset-cookie: a=b\r\nx: `)
  assert.is(status, 400)
  assert.is(headers['location'], undefined)
})

authorize('exists below every form of the metadata', async () => {
  const gateway = await stage.gateway(protectedBy(FIELDS))
  for (const path of [PATH, `${SERVER}/mcp/authorize`, `/mcp${SERVER}/authorize`]) {
    const { status, headers } = await ask(gateway, `GET ${path}?${PKCE}`)
    assert.equal([status, headers['location']], [302, `${TENANT}?${PKCE}`], path)
  }
  const { status, headers } = await ask(gateway, `POST ${PATH}`, [], 'a=b')
  assert.equal([status, headers['allow']], [405, 'GET, HEAD'])
})

authorize('does not exist for other providers', async () => {
  const fields = 'issuer: "http://idp.example/realms/r", provider: { idp_realm: {} }'
  const gateway = await stage.gateway(protectedBy(fields))
  for (const line of [`GET ${PATH}?a=b`, `POST ${SERVER}/token`])
    assert.is((await ask(gateway, line)).status, 404)
})

authorize('redirects to the login host for version 1 issuers', async () => {
  const fields = 'issuer: "https://sts.windows.net/t1/", provider: { idp_tenant: {} }'
  const gateway = await stage.gateway(protectedBy(fields))
  const { headers } = await ask(gateway, `GET ${PATH}?${PKCE}`)
  assert.is(
    headers['location'],
    `https://login.microsoftonline.com/t1/oauth2/v2.0/authorize?${PKCE}`,
  )
})

authorize.run()
