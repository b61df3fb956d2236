// Attacks on the operator's client secret: at the token endpoint that adds it, by redirects, and by searching all output of
// the gateway. The secret is added only in the cases of spec.md §4.3.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../../support/idp/ask-mcp.ts'
import type { Answer } from '../../support/idp/ask-mcp.ts'
import { browse } from '../../support/idp/browser.ts'
import { CALLBACK } from '../../support/idp/double.ts'
import { Guarded } from '../../support/idp/guarded.ts'
import { guardedFor, tenantSetting } from '../../support/idp/guarding.ts'
import { Host, answer } from '../../support/idp/host.ts'
import { logInV1 } from '../../support/idp/logins.ts'
import { sendRawRequest } from '../../support/idp/raw-request.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { CLIENT_ID, CLIENT_SECRET, TENANT, TenantDouble } from '../../support/idp/tenant-double.ts'

const attacks = suite('attacks on the secret')

const SERVER = '/.well-known/oauth-authorization-server'
const FORM = 'application/x-www-form-urlencoded'
const OURS = `client_id=${CLIENT_ID}`
const CODE = 'grant_type=authorization_code&code=c&code_verifier=v'
const TOKEN_PATH = `/${TENANT}/oauth2/v2.0/token`

const keys = await SigningKeys.create()

/** The response to the client, and the request that the tenant received, if any. */
interface Seen {
  readonly response: Answer
  readonly sent: string | null
}

const withTenant = guardedFor(attacks, () => TenantDouble.start({}, keys), tenantSetting())

async function tokenRequest(
  guarded: Guarded,
  tenant: TenantDouble,
  body: string,
  headers: Record<string, string> = {},
): Promise<Seen> {
  const before = tenant.host.requests.length
  const response = await ask(guarded.at(`${SERVER}/mcp/token`), {
    method: 'POST',
    body,
    headers: { 'content-type': FORM, ...headers },
  })
  const [request] = tenant.host.requests
    .slice(before)
    .filter(({ url }) => url.startsWith(TOKEN_PATH))
  const sent = request === undefined ? null : `${request.url}\n${request.body}`
  return { response, sent }
}

attacks('the secret is added to valid token requests', async () => {
  await withTenant(async (guarded, tenant) => {
    for (const grant of [CODE, 'grant_type=refresh_token&refresh_token=r']) {
      const { response, sent } = await tokenRequest(guarded, tenant, `${OURS}&${grant}&resource=x`)
      const secret = encodeURIComponent(CLIENT_SECRET)
      assert.is(sent, `${TOKEN_PATH}\n${OURS}&${grant}&client_secret=${secret}`)
      assert.not.match(response.text, CLIENT_SECRET)
    }
  })
})

const WITHOUT: Record<string, string> = {
  'a foreign client': `client_id=foreign&${CODE}`,
  'no client': CODE,
  'two clients, the first ours': `${OURS}&client_id=foreign&${CODE}`,
  'two clients, the last ours': `client_id=foreign&${OURS}&${CODE}`,
  'ours twice': `${OURS}&${OURS}&${CODE}`,
  'a foreign client next to ours, encoded': `${OURS}&client%5Fid=foreign&${CODE}`,
  'ours in capitals': `client_id=${CLIENT_ID.toUpperCase()}&${CODE}`,
  'ours with a blank': `${OURS}+&${CODE}`,
  'another spelling of the name': `${OURS}&Client_Id=foreign&${CODE}`,
  'no grant': `${OURS}&code=c`,
  client_credentials: `${OURS}&grant_type=client_credentials&scope=s`,
  password: `${OURS}&grant_type=password&username=u&password=p`,
  'device code': `${OURS}&grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=d`,
  'jwt-bearer': `${OURS}&grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=a`,
  'two grants, the first good': `${OURS}&${CODE}&grant_type=client_credentials`,
  'two grants, the last good': `${OURS}&grant_type=client_credentials&${CODE}`,
  'a second grant, encoded': `${OURS}&${CODE}&%67rant_type=client_credentials`,
  'another spelling of grant_type': `${OURS}&${CODE}&Grant_Type=client_credentials`,
  'a secret of the client': `${OURS}&${CODE}&client_secret=guess`,
  'an empty secret': `${OURS}&${CODE}&client_secret=`,
  'a secret of the client, encoded': `${OURS}&${CODE}&client%5Fsecret=guess`,
  'an assertion': `${OURS}&${CODE}&client_assertion=a&client_assertion_type=t`,
  'JSON that calls itself a form': JSON.stringify({ client_id: CLIENT_ID, ...asObject(CODE) }),
}

function asObject(form: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(form))
}

attacks('the secret is not added to ambiguous requests', async () => {
  await withTenant(async (guarded, tenant) => {
    const added: string[] = []
    for (const [name, body] of Object.entries(WITHOUT)) {
      const { response, sent } = await tokenRequest(guarded, tenant, body)
      assert.not.match(response.text, CLIENT_SECRET)
      if (sent?.includes(encodeURIComponent(CLIENT_SECRET)) ?? false) added.push(name)
    }
    assert.equal(added, [])
  })
})

attacks('the secret is not added to requests with an Authorization header', async () => {
  await withTenant(async (guarded, tenant) => {
    for (const authorization of ['Basic Zm9vOmJhcg==', 'Bearer x', '']) {
      const { sent } = await tokenRequest(guarded, tenant, `${OURS}&${CODE}`, { authorization })
      assert.not.match(sent ?? '', encodeURIComponent(CLIENT_SECRET))
    }
  })
})

attacks('only form bodies are read as forms', async () => {
  await withTenant(async (guarded, tenant) => {
    const json = JSON.stringify({ client_id: CLIENT_ID, ...asObject(CODE) })
    for (const type of ['application/json', 'multipart/form-data; boundary=x', 'text/plain', '']) {
      const headers = { 'content-type': type }
      const { response, sent } = await tokenRequest(guarded, tenant, json, headers)
      assert.is(sent, null)
      assert.is(response.status, 400)
    }
    const { response } = await tokenRequest(guarded, tenant, `${OURS}&${'x'.repeat(200_000)}`)
    assert.is(response.status, 413)
  })
})

attacks('only the form and its content type reach the token endpoint', async () => {
  await withTenant(async (guarded, tenant) => {
    const headers = { origin: 'https://page.example', cookie: 'a=b', 'x-forwarded-for': '1.2.3.4' }
    const path = `${SERVER}/mcp/token?client_id=foreign&grant_type=client_credentials`
    const { text } = await ask(guarded.at(path), {
      method: 'POST',
      body: `${OURS}&${CODE}`,
      headers: { 'content-type': FORM, ...headers },
    })
    const { url, headers: sent } = tenant.host.requests.at(-1)!
    assert.is(url, TOKEN_PATH)
    for (const name of Object.keys(headers)) assert.is(sent[name], undefined)
    assert.match(text, '"error":"invalid_grant"')
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const refused = await ask(guarded.at(`${SERVER}/mcp/token`), { method })
      assert.is(refused.status, 405)
    }
  })
})

attacks('a redirect of the token request is not followed', async () => {
  const thief = new Host((_request, response) => answer(response, 200, {}))
  await thief.up()
  const turned = new Host((_request, response) => {
    response.writeHead(307, { location: `${thief.origin}/token`, 'set-cookie': 'a=b' }).end()
  })
  await turned.up()
  const guarded = await Guarded.start({
    authentication: {
      issuer: `${turned.origin}/${TENANT}/v2.0`,
      audiences: ['a'],
      provider: { idp_tenant: {} },
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
    },
  })
  try {
    const { headers } = await ask(guarded.at(`${SERVER}/mcp/token`), {
      method: 'POST',
      body: `${OURS}&${CODE}`,
      headers: { 'content-type': FORM },
    })
    assert.is(turned.requests.length, 1)
    assert.is(thief.requests.length, 0)
    assert.is(headers.get('location'), null)
    assert.is(headers.get('set-cookie'), null)
  } finally {
    await guarded.stop()
    await turned.down()
    await thief.down()
  }
})

const EVIL = 'evil.example'
const PKCE = `code_challenge=${'a'.repeat(43)}&code_challenge_method=S256`

const DETOURS = [
  `${SERVER}/mcp/authorize?${PKCE}&redirect_uri=https://${EVIL}/`,
  `${SERVER}/authorize?${PKCE}&https://${EVIL}/`,
  `${SERVER}//${EVIL}/authorize`,
  `${SERVER}/@${EVIL}/authorize?a=@${EVIL}`,
  `${SERVER}/https://${EVIL}/authorize`,
  `${SERVER}/..//${EVIL}/authorize`,
  `${SERVER}/%2f%2f${EVIL}/authorize`,
  `${SERVER}/mcp/authorize?${PKCE}&a=%0d%0alocation:%20https://${EVIL}/`,
  `${SERVER}/mcp/authorize?${PKCE}&#@${EVIL}`,
  `${SERVER}/mcp/authorize?${PKCE}&resource=x&resource=y&res%6furce=https://${EVIL}/&state=%2B+%20`,
]

attacks('authorize redirects only to the provider', async () => {
  await withTenant(async ({ url }, tenant) => {
    const page = `${tenant.host.origin}/${TENANT}/oauth2/v2.0/authorize`
    for (const target of DETOURS) {
      const { status, headers } = await sendRawRequest(url, { target, headers: [['host', EVIL]] })
      const location = headers.get('location')
      assert.ok([302, 400, 401, 404].includes(status), `${target}: ${status}`)
      if (location === null) continue
      assert.ok(location === page || location.startsWith(`${page}?`), `${target}: ${location}`)
      assert.not.match(location, /resource|res%6furce/)
    }
  })
})

attacks('state and PKCE parameters reach the provider unchanged', async () => {
  await withTenant(async ({ url }, tenant) => {
    const query =
      'state=%2B+%20%c3%a4%C3%A4~!*&' +
      'code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&&x'
    const target = `${SERVER}/mcp/authorize?resource=http%3A%2F%2Fa&${query}&resource=b`
    const { headers } = await sendRawRequest(url, { target })
    const [, sent = ''] = headers.get('location')?.split('?') ?? []
    assert.is(sent, query)
    assert.match(headers.get('location') ?? '', tenant.host.origin)
  })
})

attacks('no secret, token, code or verifier is in the log or in the dump', async () => {
  await withTenant(async (guarded, tenant) => {
    const planted = ['planted-header', 'planted-query', 'planted-password', 'planted-code']
    const client = await logInV1(guarded.url, (url) => browse(url, CALLBACK))
    await client.tools()
    await client.close()
    const { wallet } = client
    await tokenRequest(guarded, tenant, `${OURS}&grant_type=authorization_code&code=planted-code`)
    await tokenRequest(guarded, tenant, `${OURS}&grant_type=password&password=planted-password`)
    await ask(guarded.at('/mcp?access_token=planted-query'))
    await ask(guarded.url, { headers: { authorization: 'Bearer planted-header' } })
    const basic = Buffer.from('user:planted-password').toString('base64')
    await ask(guarded.url, { headers: { authorization: `Basic ${basic}` } })
    const { access_token: token, refresh_token: refresh } = wallet.current!
    const secrets = { CLIENT_SECRET, token, refresh, code: wallet.code, basic }
    const forms = [...Object.values(secrets), wallet.codeVerifier(), ...planted].flatMap((one) =>
      one === undefined ? [] : [one, encodeURIComponent(one)],
    )
    const signature = token.split('.')[2]!
    const written = guarded.log + (await guarded.dump())
    assert.match(written, /clientId/)
    assert.equal(
      [...forms, signature].filter((one) => written.includes(one)),
      [],
    )
  })
})

attacks.run()
