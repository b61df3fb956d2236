import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { IdentityStore } from '../../../lib/enforce/auth/identity.ts'
import { OAuthPathHandler } from '../../../lib/enforce/oauth/oauth-paths.ts'
import type { Reply } from '../../../lib/core/types.ts'
import { ungatedConfig, firstListener } from '../../support/config.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { LogRecorder, Stage } from '../../support/gateway.ts'
import { ask, BASE, protectedBy, read, RESOURCE } from './asking.ts'

const resources = suite('resource metadata')
const stage = new Stage()
resources.after.each(() => stage.clear())

const REALM = 'issuer: "http://idp.example/realms/r", provider: { idp_realm: {} }'

resources(
  'has the members of spec.md §2.4, in this order, without a call to the provider',
  async () => {
    const gateway = await stage.gateway(protectedBy(REALM))
    const { status, headers, body } = await ask(gateway, `GET ${RESOURCE}/mcp`)
    assert.is(status, 200)
    assert.is(headers['content-type'], 'application/json')
    assert.is(
      body,
      `{"resource":"${BASE}/mcp","authorization_servers":["${BASE}/mcp"],` +
        '"mcp_protocol_version":"2025-06-18","resource_type":"mcp-server",' +
        '"bearer_methods_supported":["header"],"scopes_supported":["read","write"]}',
    )
  },
)

resources('contains the configured pages', async () => {
  const text = protectedBy(REALM).replace(
    'scopesSupported: [read, write], bearerMethodsSupported: [header]',
    'resourceName: Weather, resourceDocumentation: "https://d.example/", ' +
      'resourcePolicyUri: "https://p.example/", resourceTosUri: "https://t.example/"',
  )
  const document = await read(await stage.gateway(text), `${RESOURCE}/mcp`)
  assert.equal(Object.keys(document), [
    'resource',
    'authorization_servers',
    'mcp_protocol_version',
    'resource_type',
    'resource_name',
    'resource_documentation',
    'resource_policy_uri',
    'resource_tos_uri',
  ])
})

resources('is the same at the root and below any suffix', async () => {
  const gateway = await stage.gateway(protectedBy(REALM))
  const document = await read(gateway, `${RESOURCE}/mcp`)
  for (const path of [RESOURCE, `${RESOURCE}/`, `${RESOURCE}/mcp/`, `${RESOURCE}/sse?a=b`])
    assert.equal(await read(gateway, path), document, path)
})

resources('names the provider as the server when issuerMode is provider', async () => {
  const direct = await stage.gateway(protectedBy(`${REALM}, issuerMode: provider`))
  const document = await read(direct, `${RESOURCE}/mcp`)
  assert.equal(document['authorization_servers'], ['http://idp.example/realms/r'])
  const slashed = REALM.replace('realms/r', 'realms/r/')
  const exact = await stage.gateway(protectedBy(`${slashed}, issuerMode: provider`))
  const { authorization_servers: servers } = await read(exact, `${RESOURCE}/mcp`)
  assert.equal(servers, ['http://idp.example/realms/r/'])
})

resources('uses nothing from the request', async () => {
  const gateway = await stage.gateway(protectedBy(REALM))
  const { body } = await ask(gateway, `GET ${RESOURCE}/mcp`)
  for (const fields of [
    ['host: evil.example'],
    ['host: evil.example', 'x-forwarded-host: evil.example', 'x-forwarded-proto: ftp'],
    ['forwarded: host=evil.example;proto=http', 'x-original-host: evil.example'],
    ['x-forwarded-prefix: /evil', 'x-forwarded-port: 81', 'origin: https://evil.example'],
  ]) {
    const answer = await ask(gateway, `GET ${RESOURCE}/mcp`, fields)
    assert.is(answer.body, body, fields.join())
    assert.not.match(JSON.stringify(answer.headers), 'evil', fields.join())
  }
})

resources('is readable by any page, and answers preflights', async () => {
  const gateway = await stage.gateway(protectedBy(REALM))
  const shared = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
  }
  const read = await ask(gateway, `GET ${RESOURCE}/mcp`)
  const preflight = await ask(gateway, `OPTIONS ${RESOURCE}/mcp`, [
    'origin: https://page.example',
    'access-control-request-method: GET',
    'access-control-request-headers: mcp-protocol-version',
  ])
  for (const [name, value] of Object.entries(shared)) {
    assert.is(read.headers[name], value)
    assert.is(preflight.headers[name], value)
  }
  assert.equal([preflight.status, preflight.body], [204, ''])
})

resources('leaves CORS headers to a cors policy', async () => {
  const policy = 'cors: { allowOrigins: [https://page.example] }'
  const gateway = await stage.gateway(protectedBy(REALM, policy))
  const allowed = async (origin: string): Promise<string | undefined> => {
    const { status, headers } = await ask(gateway, `GET ${RESOURCE}/mcp`, [`origin: ${origin}`])
    assert.is(status, 200)
    return headers['access-control-allow-origin']
  }
  assert.is(await allowed('https://page.example'), 'https://page.example')
  assert.is(await allowed('https://evil.example'), undefined)
})

resources('supports HEAD, and no other methods', async () => {
  const gateway = await stage.gateway(protectedBy(REALM))
  const whole = await ask(gateway, `GET ${RESOURCE}/mcp`)
  const head = await ask(gateway, `HEAD ${RESOURCE}/mcp`)
  assert.equal(
    [head.status, head.headers['content-length'], head.body],
    [200, whole.headers['content-length'], ''],
  )
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const refused = await ask(gateway, `${method} ${RESOURCE}/mcp`)
    assert.equal([refused.status, refused.headers['allow']], [405, 'GET, HEAD'])
    assert.is(refused.headers['access-control-allow-origin'], '*')
  }
})

resources('all other paths need a token', async () => {
  const gateway = await stage.gateway(protectedBy(REALM))
  for (const path of ['/mcp', '/', '/.well-known/other', `/x${RESOURCE}`]) {
    const { status, headers } = await ask(gateway, `GET ${path}`)
    assert.is(status, 401, path)
    assert.is(
      headers['www-authenticate'],
      `Bearer resource_metadata="${BASE}/.well-known/oauth-protected-resource/mcp"`,
    )
  }
})

resources('has no root document when several resources share the host', () => {
  const [route] = firstListener(
    ungatedConfig(`gateways: { default: { port: 3000 } }\n${protectedBy(REALM)}`),
  ).routes
  const identity = stage.add(new IdentityStore(new LogRecorder(() => {})))
  const paths = new OAuthPathHandler(route!.policies.mcpAuthentication!, identity, {
    resource: 'ambiguous',
    server: 'ambiguous',
  })
  const statusOf = (path: string): number =>
    (paths.answer(exchangeOf(requestOf(`GET ${path} HTTP/1.1`, 'host: a'))) as Reply).head.status
  assert.is(statusOf(`${RESOURCE}/mcp`), 200)
  assert.is(statusOf(RESOURCE), 404)
  assert.is(statusOf(`${RESOURCE}/other`), 404)
})

resources.run()
