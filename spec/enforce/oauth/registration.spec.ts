import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../../lib/core/byte-budgets.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { Stage } from '../../support/gateway.ts'
import { ask, BASE, protectedBy, SERVER } from './asking.ts'
import type { Answer } from './asking.ts'
import { ProviderServer } from './provider-server.ts'
import { until } from '../../support/until.ts'

const registration = suite('registration')
const stage = new Stage()
registration.after.each(() => stage.clear())

const PATH = `${SERVER}/client-registration`
const AT_REALM = 'POST /realms/r/clients-registrations/openid-connect'

async function realm(more = ''): Promise<[RunningGateway, ProviderServer]> {
  const provider = stage.add(await ProviderServer.start())
  const issuer = `${provider.origin}/realms/r`
  provider.offer('/realms/r/.well-known/openid-configuration', { issuer })
  const fields = `issuer: "${issuer}", provider: { idp_realm: {} }, ${more}`
  return [await stage.gateway(protectedBy(fields)), provider]
}

async function tenant(): Promise<RunningGateway> {
  const fields = `issuer: "http://127.0.0.1:9/t1/v2.0", provider: { idp_tenant: {} },
    clientId: "the client/1", clientSecret: hush`.replace(/\n\s+/, ' ')
  return stage.gateway(protectedBy(fields))
}

async function post(gateway: RunningGateway, body: string, path = PATH): Promise<Answer> {
  return ask(gateway, `POST ${path}`, ['content-type: application/json'], body)
}

registration('is forwarded to the realm unchanged, and so is its response', async () => {
  const [gateway, provider] = await realm()
  const answer = '{ "client_id" : "new", "registration_access_token":"t" }\n'
  provider.says.set(AT_REALM, {
    status: 201,
    headers: {
      'content-type': 'application/json;charset=UTF-8',
      'cache-control': 'no-store',
      'set-cookie': ['a=b'],
      'x-internal': 'c',
      location: 'http://internal/client',
      'access-control-allow-origin': 'https://only.example',
    },
    body: answer,
  })
  const asked = '{"client_name":"x",  "redirect_uris":["http://127.0.0.1/cb"],"a":"\\u00e9"}'
  for (const path of [PATH, `${SERVER}/mcp/client-registration`]) {
    const { status, headers, body } = await post(gateway, asked, path)
    assert.equal([status, body], [201, answer])
    const { date: _, ...rest } = headers
    assert.equal(rest, {
      'content-type': 'application/json;charset=UTF-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-length': String(answer.length),
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST, OPTIONS',
      'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
      connection: 'close',
    })
    const { line, headers: sent, body: received } = provider.received.at(-1)!
    assert.equal([line, received], [AT_REALM, asked])
    assert.is(sent['content-type'], 'application/json')
    for (const name of ['origin', 'cookie', 'authorization', 'x-forwarded-for'])
      assert.is(sent[name], undefined)
  }
})

registration('returns error responses of the realm', async () => {
  const [gateway, provider] = await realm()
  const body = `{"error":"insufficient_scope","error_description":"Policy 'Trusted Hosts' rejected request"}`
  provider.says.set(AT_REALM, { status: 403, body })
  const answer = await post(gateway, '{"client_name":"hush"}')
  assert.equal([answer.status, answer.body], [403, body])
  const [line] = gateway.lines.filter(({ message }) => message === 'client registration refused')
  assert.equal([line?.['status'], line?.['error']], [403, 'insufficient_scope'])
  assert.not.match(JSON.stringify(gateway.lines), /hush|Trusted/)
})

registration('uses the endpoint of the metadata if it has the origin of the realm', async () => {
  const [gateway, provider] = await realm()
  provider.offer('/realms/r/.well-known/openid-configuration', {
    registration_endpoint: `${provider.origin}/custom`,
  })
  provider.says.set('POST /custom', { status: 201, body: '{}' })
  assert.is((await post(gateway, '{}')).status, 201)
  assert.is(provider.lines[1], 'POST /custom')
})

registration('is an error when the provider has no registration', async () => {
  const provider = stage.add(await ProviderServer.start())
  provider.offer('/.well-known/oauth-authorization-server', {})
  const gateway = await stage.gateway(protectedBy(`issuer: "${provider.origin}"`))
  const { status, body } = await post(gateway, '{}')
  assert.is(status, 400)
  assert.match(body, 'set clientId in mcpAuthentication')
})

registration('returns the configured client, and never its secret', async () => {
  const gateway = await tenant()
  const asked = {
    client_name: 'Inspector',
    redirect_uris: ['http://localhost:6274/cb', 'cursor://x/cb'],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_post',
    scope: 'everything',
    client_id: 'other',
    client_secret: 'mine',
  }
  const { status, headers, body } = await post(gateway, JSON.stringify(asked))
  assert.equal([status, headers['content-type']], [201, 'application/json'])
  assert.equal(JSON.parse(body), {
    client_id: 'the client/1',
    client_id_issued_at: 0,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: ['http://localhost:6274/cb', 'cursor://x/cb'],
    client_name: 'Inspector',
    scope: 'read write',
    registration_client_uri: `${BASE}${PATH}/the%20client%2F1`,
  })
  assert.is(headers['access-control-allow-origin'], '*')
})

registration('returns the defaults of MCP clients for an empty registration', async () => {
  const { status, body } = await post(await tenant(), '{}')
  assert.is(status, 201)
  const client: Record<string, unknown> = JSON.parse(body)
  assert.equal(client['grant_types'], ['authorization_code', 'refresh_token'])
  assert.equal(client['response_types'], ['code'])
  assert.equal(client['redirect_uris'], [])
})

registration('can be read again at its registration_client_uri', async () => {
  const gateway = await tenant()
  const { registration_client_uri: uri, ...rest }: Record<string, string> = JSON.parse(
    (await post(gateway, '{}')).body,
  )
  const { status, body } = await ask(gateway, `GET ${new URL(uri!).pathname}`)
  assert.is(status, 200)
  assert.equal(JSON.parse(body), { ...rest, registration_client_uri: uri })
  assert.is((await ask(gateway, `GET ${PATH}/other`)).status, 404)
  assert.is((await ask(gateway, `DELETE ${new URL(uri!).pathname}`)).status, 405)
  const [realmGateway] = await realm()
  assert.is((await ask(realmGateway, `GET ${PATH}/other`)).status, 404)
})

registration('rejects invalid registrations', async () => {
  const gateway = await tenant()
  const errorOf = async (body: string): Promise<unknown> => {
    const answer = await post(gateway, body)
    assert.equal([answer.status, answer.headers['access-control-allow-origin']], [400, '*'])
    return (JSON.parse(answer.body) as { error: unknown }).error
  }
  for (const body of [
    '',
    '{',
    'client_name=x',
    '[]',
    'null',
    '"a"',
    '{"redirect_uris":"https://a.example"}',
    '{"redirect_uris":[1]}',
    '{"grant_types":"authorization_code"}',
    '{"response_types":[null]}',
  ])
    assert.is(await errorOf(body), 'invalid_client_metadata', body)
  for (const uri of ['javascript:alert(1)', 'data:text/html,x', 'http://evil.example/', ''])
    assert.is(
      await errorOf(JSON.stringify({ redirect_uris: ['https://a.example/cb', uri] })),
      'invalid_redirect_uri',
      uri,
    )
})

registration('bounds the size of a registration', async () => {
  const [gateway, provider] = await realm()
  provider.says.set(AT_REALM, { status: 201, body: '{}' })
  assert.is((await post(gateway, `"${'x'.repeat(65_534)}"`)).status, 201)
  const before = provider.received.length
  const announced = await ask(gateway, `POST ${PATH}`, ['content-length: 65537'])
  assert.is(announced.status, 413)
  const chunk = `10001\r\n${'x'.repeat(65_537)}\r\n0\r\n\r\n`
  const streamed = await ask(gateway, `POST ${PATH}`, ['transfer-encoding: chunked'], chunk)
  assert.is(streamed.status, 413)
  assert.is(provider.received.length, before)
})

registration(
  'counts as held bytes while incomplete, until the client closes the connection',
  async () => {
    const gateway = await tenant()
    const before = bytesInFlight.retained
    const client = await stage.client(gateway)
    client.send(
      `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n${'x'.repeat(30_000)}`,
    )
    await until('it to be held', () => bytesInFlight.retained - before === 30_000)
    client.destroy()
    await gateway.logged(1)
    assert.is(bytesInFlight.retained, before)
  },
)

registration('rejects other methods, and answers preflights itself', async () => {
  const [gateway, provider] = await realm()
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
    const { status, headers } = await ask(gateway, `${method} ${PATH}`)
    assert.equal([status, headers['allow']], [405, 'POST'], method)
  }
  const preflight = await ask(gateway, `OPTIONS ${PATH}`, [
    'origin: https://page.example',
    'access-control-request-method: POST',
    'access-control-request-headers: content-type',
  ])
  assert.equal([preflight.status, preflight.headers['access-control-allow-origin']], [204, '*'])
  assert.is(preflight.headers['access-control-allow-methods'], 'POST, OPTIONS')
  assert.is(provider.received.length, 0)
})

registration.run()
