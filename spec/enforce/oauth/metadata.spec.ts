import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Line, RunningGateway } from '../../support/gateway.ts'
import { Stage } from '../../support/gateway.ts'
import { ask, BASE, OPENID, protectedBy, read, RESOURCE, SERVER } from './asking.ts'
import { ProviderServer } from './provider-server.ts'

const servers = suite('authorization server metadata')
const stage = new Stage()
servers.after.each(() => stage.clear())

const FORMS = [
  [SERVER, BASE],
  [`${SERVER}/mcp`, `${BASE}/mcp`],
  [`/mcp${SERVER}`, `${BASE}/mcp`],
  [OPENID, BASE],
  [`${OPENID}/mcp`, `${BASE}/mcp`],
  [`/mcp${OPENID}`, `${BASE}/mcp`],
] as const

const REGISTRATION = `${BASE}${SERVER}/client-registration`

/** The relevant members of the metadata of a realm. */
function realmDocument(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/protocol/openid-connect/auth`,
    token_endpoint: `${issuer}/protocol/openid-connect/token`,
    jwks_uri: `${issuer}/protocol/openid-connect/certs`,
    registration_endpoint: `${issuer}/clients-registrations/openid-connect`,
    code_challenge_methods_supported: ['plain', 'S256'],
    authorization_response_iss_parameter_supported: true,
    signed_metadata: 'a.b.c',
    custom: { kept: [1, null, 'é'] },
  }
}

async function realm(more = ''): Promise<[RunningGateway, ProviderServer, string]> {
  const provider = stage.add(await ProviderServer.start())
  const issuer = `${provider.origin}/realms/r`
  provider.offer('/realms/r/.well-known/openid-configuration', realmDocument(issuer))
  const fields = `issuer: "${issuer}", provider: { idp_realm: {} }, ${more}`
  return [await stage.gateway(protectedBy(fields)), provider, issuer]
}

servers('of a realm: the provider document with the issuer of the gateway', async () => {
  const [gateway, , issuer] = await realm()
  const {
    authorization_response_iss_parameter_supported: _,
    signed_metadata: __,
    ...rest
  } = realmDocument(issuer)
  const expected = { ...rest, issuer: BASE, registration_endpoint: REGISTRATION }
  assert.equal(await read(gateway, SERVER), expected)
})

servers(
  'adds public clients to the authentication methods, if the provider lists methods',
  async () => {
    const provider = stage.add(await ProviderServer.start())
    const path = '/.well-known/openid-configuration'
    const table: [fields: string, written: unknown, expected: unknown][] = [
      ['provider: { idp_realm: {} }', ['private_key_jwt'], ['private_key_jwt', 'none']],
      ['provider: { idp_realm: {} }', ['none', 'tls_client_auth'], ['none', 'tls_client_auth']],
      ['provider: { idp_realm: {} }', undefined, undefined],
      ['clientId: abc', ['client_secret_basic'], ['client_secret_basic', 'none']],
      ['', ['client_secret_basic'], ['client_secret_basic']],
      ['clientId: abc', 'nonsense', 'nonsense'],
    ]
    for (const [fields, written, expected] of table) {
      provider.offer(path, { token_endpoint_auth_methods_supported: written })
      const text = protectedBy(`issuer: "${provider.origin}", ${fields}`)
      const { token_endpoint_auth_methods_supported: methods } = await read(
        await stage.gateway(text),
        SERVER,
      )
      assert.equal(methods, expected, fields)
    }
  },
)

servers('has at every path the issuer by which that path is derived', async () => {
  const [gateway, provider] = await realm()
  for (const [path, issuer] of FORMS) {
    const document = await read(gateway, path)
    assert.is(document['issuer'], issuer, path)
    assert.is(document['registration_endpoint'], REGISTRATION, path)
  }
  assert.is(provider.received.length, 1, 'the document is kept')
})

servers('has consistent URLs for any path of the resource', async () => {
  const provider = stage.add(await ProviderServer.start())
  provider.offer('/realms/r/.well-known/openid-configuration', {})
  const fields = `issuer: "${provider.origin}/realms/r", provider: { idp_realm: {} }`
  for (const path of ['', '/', '/mcp', '/mcp/', '/a/b', '/a%20b']) {
    const gateway = await stage.gateway(protectedBy(fields, '', BASE + path))
    const { authorization_servers: advertised } = await read(gateway, RESOURCE)
    const [server] = advertised as [string]
    // RFC 8414 3.1: the well-known part goes between host and path.
    const { origin, pathname } = new URL(server)
    assert.is(origin, BASE)
    const found = await read(gateway, `${SERVER}${pathname === '/' ? '' : pathname}`)
    assert.is(found['issuer'], server, path)
    const appended = await read(gateway, `${server.slice(BASE.length)}${OPENID}`)
    assert.is(appended['issuer'], server, path)
  }
})

servers('uses nothing from the request', async () => {
  const [gateway] = await realm()
  const { body } = await ask(gateway, `GET ${SERVER}/mcp`)
  const poisoned = await ask(gateway, `GET ${SERVER}/mcp?issuer=https://evil.example`, [
    'host: evil.example',
    'x-forwarded-host: evil.example',
    'x-forwarded-proto: http',
    'forwarded: host=evil.example',
  ])
  assert.is(poisoned.body, body)
})

servers('is not served below a suffix that was never advertised', async () => {
  const [gateway, provider] = await realm()
  for (const path of [`${SERVER}/other`, `${OPENID}/x`, `${SERVER}/authorize`, `${SERVER}/mcp/x`]) {
    const { status, headers } = await ask(gateway, `GET ${path}`)
    assert.equal([status, headers['access-control-allow-origin']], [404, '*'], path)
  }
  assert.is(provider.received.length, 0)
})

servers('answers preflights and wrong methods without calling the provider', async () => {
  const [gateway, provider] = await realm()
  for (const [path] of FORMS) {
    const fields = ['origin: https://a.example', 'access-control-request-method: GET']
    assert.is((await ask(gateway, `OPTIONS ${path}`, fields)).status, 204, path)
    assert.is((await ask(gateway, `DELETE ${path}`)).status, 405, path)
  }
  assert.is(provider.received.length, 0)
})

const TENANT_SAYS = {
  issuer: 'https://login.example/t1/v2.0',
  authorization_endpoint: 'https://login.example/t1/oauth2/v2.0/authorize',
  token_endpoint: 'https://login.example/t1/oauth2/v2.0/token',
  token_endpoint_auth_methods_supported: ['client_secret_post'],
  mtls_endpoint_aliases: { token_endpoint: 'https://mtls.example/token' },
  scopes_supported: ['openid'],
}

async function tenant(version: string, more: string): Promise<[RunningGateway, ProviderServer]> {
  const provider = stage.add(await ProviderServer.start())
  provider.offer('/t1/v2.0/.well-known/openid-configuration', TENANT_SAYS)
  const fields = `issuer: "${provider.origin}/t1${version}", provider: { idp_tenant: {} }, ${more}`
  return [await stage.gateway(protectedBy(fields)), provider]
}

servers('of a tenant: logins and tokens go through the gateway', async () => {
  for (const version of ['/v2.0', '/']) {
    const [gateway] = await tenant(version, 'clientId: abc')
    for (const [path, issuer, document] of [
      [SERVER, BASE, `${BASE}${SERVER}`],
      [`${SERVER}/mcp`, `${BASE}/mcp`, `${BASE}${SERVER}/mcp`],
      [`/mcp${OPENID}`, `${BASE}/mcp`, `${BASE}${SERVER}/mcp`],
    ] as const)
      assert.equal(await read(gateway, path), {
        issuer,
        authorization_endpoint: `${document}/authorize`,
        token_endpoint: `${document}/token`,
        registration_endpoint: REGISTRATION,
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        scopes_supported: ['openid'],
      })
  }
})

servers('of a tenant without a client to offer: no registration', async () => {
  const [gateway] = await tenant('/v2.0', '')
  assert.not.ok('registration_endpoint' in (await read(gateway, SERVER)))
})

servers('without a provider: by RFC 8414 first, then as OpenID', async () => {
  const provider = stage.add(await ProviderServer.start())
  const issuer = `${provider.origin}/idp`
  const gateway = await stage.gateway(protectedBy(`issuer: "${issuer}"`))
  const endpoint = `${issuer}/t`
  provider.offer('/idp/.well-known/openid-configuration', { token_endpoint: endpoint })
  const expected = { token_endpoint: endpoint, issuer: `${BASE}/mcp` }
  assert.equal(await read(gateway, `${SERVER}/mcp`), expected)
  assert.equal(provider.lines, [
    'GET /.well-known/oauth-authorization-server/idp',
    'GET /idp/.well-known/openid-configuration',
  ])
  const other = await stage.gateway(protectedBy(`issuer: "${issuer}"`))
  provider.offer('/.well-known/oauth-authorization-server/idp', {
    registration_endpoint: `${provider.origin}/register`,
  })
  const { registration_endpoint: registration } = await read(other, `${SERVER}/mcp`)
  assert.is(registration, REGISTRATION)
})

/** The log lines after reading the metadata of a provider with this document twice. */
async function toldOf(provider: ProviderServer, document: unknown, fields = ''): Promise<Line[]> {
  provider.offer('/.well-known/openid-configuration', document)
  const gateway = await stage.gateway(protectedBy(`issuer: "${provider.origin}", ${fields}`))
  await ask(gateway, `GET ${SERVER}`)
  await ask(gateway, `GET ${SERVER}/mcp`)
  return gateway.lines.filter(({ level, url }) => {
    return level === 'warn' && !String(url).includes('/.well-known/')
  })
}

servers('logs once that a document names another issuer, and serves it', async () => {
  const provider = stage.add(await ProviderServer.start())
  const named = `${provider.origin}/`
  const message = 'metadata names another issuer: its tokens may be refused'
  assert.equal(await toldOf(provider, { issuer: named }), [
    { level: 'warn', message, issuer: provider.origin, named },
  ])
  assert.equal(await toldOf(provider, { issuer: provider.origin }), [])
})

servers('logs once why a registration endpoint is left out', async () => {
  const provider = stage.add(await ProviderServer.start())
  const document = {
    issuer: provider.origin,
    registration_endpoint: 'https://elsewhere.example/register?key=hush',
  }
  assert.equal(await toldOf(provider, document), [
    {
      level: 'warn',
      message: 'registration endpoint left out: it is on another host than the issuer',
      issuer: provider.origin,
      url: 'https://elsewhere.example/register',
    },
  ])
  assert.equal(await toldOf(provider, document, 'clientId: c'), [])
  const file = { ...document, registration_endpoint: 'file:///etc/passwd' }
  assert.equal(await toldOf(provider, file), [
    {
      level: 'warn',
      message: 'registration endpoint left out: it is not an http(s) URL',
      issuer: provider.origin,
    },
  ])
})

servers('does not serve endpoints that are not http(s) URLs', async () => {
  for (const odd of [
    'javascript:alert(1)',
    'data:text/html,x',
    '/authorize',
    'http:/x',
    '',
    7,
    {},
  ]) {
    const provider = stage.add(await ProviderServer.start())
    const fields = `issuer: "${provider.origin}"`
    const gateway = await stage.gateway(protectedBy(fields))
    const issuer = provider.origin
    provider.offer('/.well-known/openid-configuration', { issuer, authorization_endpoint: odd })
    for (const path of [SERVER, `${SERVER}/mcp`]) {
      const { status, body } = await ask(gateway, `GET ${path}`)
      assert.is(status, 502, JSON.stringify(odd))
      assert.equal(JSON.parse(body), {
        error: 'temporarily_unavailable',
        error_description:
          "the identity provider's metadata cannot be used: authorization_endpoint is not an http(s) URL",
      })
    }
    const warnings = gateway.lines.filter(({ message }) => message === 'metadata cannot be used')
    assert.is(warnings.length, 1)
  }
})

servers('works with members missing from the provider document', async () => {
  const provider = stage.add(await ProviderServer.start())
  const { origin: issuer } = provider
  provider.offer('/.well-known/openid-configuration', { issuer, userinfo_endpoint: null })
  const gateway = await stage.gateway(protectedBy(`issuer: "${issuer}"`))
  assert.equal(await read(gateway, SERVER), { issuer: BASE, userinfo_endpoint: null })
})

servers('of auth0: the authorize endpoint has the audience', async () => {
  const provider = stage.add(await ProviderServer.start())
  provider.offer('/.well-known/openid-configuration', {
    authorization_endpoint: `${provider.origin}/authorize?a=b`,
    registration_endpoint: 'https://elsewhere.example/register',
  })
  const fields = `issuer: "${provider.origin}/", provider: { auth0: {} }`
  const gateway = await stage.gateway(protectedBy(fields))
  assert.equal(await read(gateway, SERVER), {
    authorization_endpoint: `${provider.origin}/authorize?a=b&audience=aud`,
    issuer: BASE,
  })
})

servers.run()
