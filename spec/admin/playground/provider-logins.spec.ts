// Logins of the playground, from the button to a call with the token: a real provider, a real listener, a real server.

import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { OAuthFinished, OAuthStarted } from '../../../lib/admin/page-api/page-api-types.ts'
import { listMcpLocations } from '../../../lib/admin/page-api/mcp-locations.ts'
import { Logins } from '../../../lib/admin/playground/provider-logins.ts'
import { createFetcher } from '../../../lib/http/fetch-document.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import { browse } from '../../support/idp/browser.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { CLIENT_ID, TenantDouble } from '../../support/idp/tenant-double.ts'
import { PemFiles } from '../../support/pem-files.ts'
import { Demo, INITIALIZE, TARGET } from './demo.ts'

const WAIT_MS = 30_000
const JSON_TYPE = { 'content-type': 'application/json' }

const logins = suite('ui/playground/logins')
const stage = new Stage()
logins.after.each(() => stage.clear())

const keys = SigningKeys.create()

async function realm(): Promise<RealmDouble> {
  const double = await RealmDouble.start(await keys)
  stage.add({ close: () => double.down() })
  return double
}

/** `fields` and `where` are YAML in flow form, without braces. */
function protectedBy(
  { issuer, audience }: { issuer: string; audience: string },
  fields = 'provider: { idp_realm: {} }',
  resource = 'http://127.0.0.1:${PORT}/mcp',
): string {
  return `mcp:
  targets: [${TARGET}]
  policies:
    mcpAuthentication:
      mode: strict
      issuer: ${issuer}
      audiences: ['${audience}']
      ${fields.replaceAll('; ', '\n      ')}
      resourceMetadata: { resource: '${resource}', scopesSupported: [mcp] }
    authorization: { rules: ['"mcp-user" in jwt.realm_access.roles'] }
`
}

interface Told<T> {
  readonly status: number
  readonly value: T & { readonly error: string }
}

async function tell<T>(demo: Demo, path: string, body: unknown, headers = {}): Promise<Told<T>> {
  const { status, text } = await demo.ask(`${demo.origin}/api/oauth/${path}`, {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify(body),
  })
  return { status, value: JSON.parse(text) as T & { readonly error: string } }
}

function start(demo: Demo, fields: object = {}): Promise<Told<OAuthStarted>> {
  const redirectUri = `${demo.origin}/ui/signed-in`
  return tell(demo, 'start', { backend: demo.place.backend.key, redirectUri, ...fields })
}

/** The redirect at the end of a login. */
async function comeBack(demo: Demo, url: string): Promise<Record<string, string>> {
  const sendResponse = await browse(new URL(url), `${demo.origin}/ui/signed-in`)
  return Object.fromEntries(sendResponse.searchParams)
}

async function wholeLogin(demo: Demo): Promise<Told<OAuthFinished>> {
  const { status, value } = await start(demo)
  assert.is(status, 200, JSON.stringify(value))
  const { code, state, iss = null } = await comeBack(demo, value.url)
  assert.is(state, value.state)
  return tell<OAuthFinished>(demo, 'finish', { code, state, iss })
}

logins('a token from a login gives access', async () => {
  const demo = await Demo.start(stage, protectedBy(await realm()))
  assert.is((await demo.post(INITIALIZE)).status, 401)
  const { status, value } = await wholeLogin(demo)
  assert.is(status, 200, JSON.stringify(value))
  assert.is(value.expiresIn, 300)
  const authorization = `Bearer ${value.accessToken}`
  const first = await demo.post(INITIALIZE, { authorization })
  assert.is(first.status, 200)
  const session = { authorization, 'mcp-session-id': first.headers.get('mcp-session-id') ?? '' }
  await demo.post({ method: 'notifications/initialized' }, session)
  const params = { name: 'add', arguments: { a: 20, b: 22 } }
  const called = await demo.post({ id: 2, method: 'tools/call', params }, session)
  assert.is(called.status, 200)
  assert.match(called.text, /"text":"42"/)
})

logins('the request has PKCE, the resource, its scopes and a state', async () => {
  const provider = await realm()
  const demo = await Demo.start(stage, protectedBy(provider))
  const { value } = await start(demo)
  const { searchParams: asked, origin } = new URL(value.url)
  assert.is(origin, new URL(provider.issuer).origin)
  assert.is(asked.get('response_type'), 'code')
  assert.is(asked.get('code_challenge_method'), 'S256')
  assert.match(asked.get('code_challenge') ?? '', /^[\w-]{43}$/)
  assert.is(asked.get('resource'), `http://127.0.0.1:${demo.gateway.port}/mcp`)
  assert.is(asked.get('scope'), 'mcp')
  assert.is(asked.get('state'), value.state)
  assert.is(asked.get('redirect_uri'), `${demo.origin}/ui/signed-in`)
  const [registration] = provider.host.requests.filter(({ method }) => method === 'POST')
  const client = JSON.parse(registration?.body ?? '{}') as Record<string, unknown>
  assert.is(client['token_endpoint_auth_method'], 'none')
  assert.equal(client['redirect_uris'], [`${demo.origin}/ui/signed-in`])
  const { code, state } = await comeBack(demo, value.url)
  await tell(demo, 'finish', { code, state, iss: null })
  const token = provider.host.requests.find(({ url }) => url.endsWith('/token'))
  const form = new URLSearchParams(token?.body)
  const verifier = form.get('code_verifier') ?? ''
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  assert.is(challenge, asked.get('code_challenge'))
})

logins('a provider named by the resource is called directly, and its iss is checked', async () => {
  const provider = await realm()
  const fields = 'provider: { idp_realm: {} }; issuerMode: provider'
  const demo = await Demo.start(stage, protectedBy(provider, fields))
  const whole = await wholeLogin(demo)
  assert.is(whole.status, 200, JSON.stringify(whole.value))
  for (const iss of [null, 'http://evil.example']) {
    const { value } = await start(demo)
    const { code, state } = await comeBack(demo, value.url)
    const refused = await tell(demo, 'finish', { code, state, iss })
    assert.is(refused.status, 502)
    assert.match(refused.value.error, /another authorization server/)
  }
})

logins('the gateway is found over loopback, whatever it is called outside', async () => {
  const resource = 'https://tools.example.com/mcp'
  const { cert, key } = stage.add(new PemFiles())
  const config = protectedBy(await realm(), undefined, resource)
  const listeners = `[{ name: tls, protocol: HTTPS, hostname: tools.example.com, tls: { cert: ${cert}, key: ${key} } }]`
  const demo = await Demo.start(
    stage,
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1, listeners: ${listeners} } }\n${config}`,
  )
  assert.is((await wholeLogin(demo)).status, 200)
})

logins("the operator's own client is used where there is one", async () => {
  const tenant = await TenantDouble.start({}, await keys)
  stage.add({ close: () => tenant.down() })
  const fields = `provider: { idp_tenant: {} }; clientId: ${CLIENT_ID}`
  const demo = await Demo.start(stage, protectedBy(tenant, fields))
  const { status, value } = await start(demo)
  assert.is(status, 200, JSON.stringify(value))
  const { origin, searchParams: asked } = new URL(value.url)
  assert.is(origin, `http://127.0.0.1:${demo.gateway.port}`)
  assert.is(asked.get('client_id'), CLIENT_ID)
})

logins('without registration, a client id is required, and then used', async () => {
  const provider = await realm()
  provider.trusts = 'no'
  const demo = await Demo.start(stage, protectedBy(provider))
  const refused = await start(demo)
  assert.is(refused.status, 422)
  assert.match(refused.value.error, /^no registration: insufficient_scope: Policy 'Trusted Hosts'/)
  const tenant = await TenantDouble.start({}, await keys)
  stage.add({ close: () => tenant.down() })
  const other = await Demo.start(stage, protectedBy(tenant, ''))
  const wanted = await start(other)
  assert.is(wanted.status, 422)
  assert.match(wanted.value.error, /does not register clients/)
  const given = await start(other, { clientId: 'mine' })
  assert.is(given.status, 200)
  assert.is(new URL(given.value.url).searchParams.get('client_id'), 'mine')
})

logins('a state is valid once, and only as issued', async () => {
  const demo = await Demo.start(stage, protectedBy(await realm()))
  const { value } = await start(demo)
  const { code, state } = await comeBack(demo, value.url)
  const wrong = await tell(demo, 'finish', { code, state: 'guessed', iss: null })
  assert.is(wrong.status, 400)
  assert.is((await tell(demo, 'finish', { code, state, iss: null })).status, 200)
  const replayed = await tell(demo, 'finish', { code, state, iss: null })
  assert.is(replayed.status, 400)
  assert.match(replayed.value.error, /unknown login/)
})

logins('a code that the provider does not know ends the login, with its words', async () => {
  const demo = await Demo.start(stage, protectedBy(await realm()))
  const { value } = await start(demo)
  const { status, value: told } = await tell(demo, 'finish', {
    code: 'stolen',
    state: value.state,
    iss: null,
  })
  assert.is(status, 502)
  assert.match(told.error, /^no token: invalid_grant/)
})

logins('a login ends on the page that began it, and nowhere else', async () => {
  const provider = await realm()
  const demo = await Demo.start(stage, protectedBy(provider))
  const uris = [
    'http://evil.example/ui/signed-in',
    `http://localhost:${demo.port}/ui/signed-in`,
    `${demo.origin}/ui/signed-in/`,
    `${demo.origin}/ui/signed-in?x=1`,
    `${demo.origin}/ui`,
    `https://127.0.0.1:${demo.port}/ui/signed-in`,
    `http://127.0.0.1:${demo.gateway.port}/ui/signed-in`,
    'javascript:alert(1)',
    '',
  ]
  for (const redirectUri of uris) assert.is((await start(demo, { redirectUri })).status, 400)
  assert.is((await start(demo, { redirectUri: 7 })).status, 400)
  assert.is((await start(demo, { backend: 'nobody' })).status, 400)
  assert.equal(provider.host.requests, [])
})

logins('pages of other sites, and bodies other than small JSON, start no login', async () => {
  const provider = await realm()
  const demo = await Demo.start(stage, protectedBy(provider))
  const redirectUri = `${demo.origin}/ui/signed-in`
  const asked = { backend: demo.place.backend.key, redirectUri }
  const url = `${demo.origin}/api/oauth/start`
  const body = JSON.stringify(asked)
  const ways = [
    [403, { headers: { ...JSON_TYPE, origin: 'http://evil.example' }, body }],
    [403, { headers: { ...JSON_TYPE, 'sec-fetch-site': 'cross-site' }, body }],
    [400, { headers: { 'content-type': 'text/plain' }, body }],
    [400, { headers: JSON_TYPE, body: '[]' }],
    [400, { headers: JSON_TYPE, body: `${body.slice(0, -1)},"x":"${'a'.repeat(70_000)}"}` }],
  ] as const
  for (const [status, way] of ways)
    assert.is((await demo.ask(url, { method: 'POST', ...way })).status, status)
  assert.is((await demo.ask(url)).status, 405)
  assert.equal(provider.host.requests, [])
})

logins('a backend without mcpAuthentication has no login', async () => {
  const demo = await Demo.start(stage, `mcp: { targets: [${TARGET}] }\n`)
  const { status, value } = await start(demo)
  assert.is(status, 400)
  assert.match(value.error, /has no mcpAuthentication/)
})

logins('a provider that is down is reported', async () => {
  const provider = await realm()
  const demo = await Demo.start(stage, protectedBy(provider))
  await provider.down()
  const { status, value } = await start(demo)
  assert.is(status, 502)
  assert.match(value.error, /^no metadata: /)
})

logins('at most 16 wait at a time, none for longer than ten minutes', async () => {
  const gateway = await stage.gateway(protectedBy(await realm()))
  const [place] = listMcpLocations(gateway.plan.config)
  const own = stage.add(createFetcher('self'))
  const provider = stage.add(createFetcher())
  const publicHosts = stage.add(createFetcher('unconfigured'))
  let now = 1_000_000
  const clock = { now: () => now }
  const fetches = { gateway: own.fetch, provider: provider.fetch, public: publicHosts.fetch }
  const open = new Logins(fetches, [], clock)
  const asked = {
    backend: '',
    redirectUri: 'http://127.0.0.1:9/ui/signed-in',
    clientId: 'known',
  }
  const begin = async (): Promise<string> =>
    (await deadline(open.start(place!, asked), WAIT_MS, 'a start')).state
  const finish = async (state: string): Promise<string> => {
    const finished = open.finish({ state, code: 'x', iss: null })
    return deadline(
      finished.then(
        () => 'finished',
        ({ message }: Error) => message,
      ),
      WAIT_MS,
      'an end',
    )
  }
  const first = await begin()
  for (let count = 0; count < 16; count++) await begin()
  assert.match(await finish(first), /^unknown login/)
  const old = await begin()
  now += 599_000
  const fresh = await begin()
  now += 2_000
  assert.match(await finish(old), /^unknown login/)
  assert.match(await finish(fresh), /^no token/)
})

logins.run()
