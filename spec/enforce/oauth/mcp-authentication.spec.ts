// mcpAuthentication: valid tokens, the responses to other requests, and the paths that need no token.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Backend } from '../../support/backend.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { KeyServer } from '../../support/key-server.ts'
import { Signer } from '../../support/signer.ts'
import { ask, BASE, RESOURCE, SERVER } from './asking.ts'
import type { Answer } from './asking.ts'
import { ProviderServer } from './provider-server.ts'

const guard = suite('mcpAuthentication')
const stage = new Stage()
guard.after.each(() => stage.clear())

const signer = await Signer.make('RS256', 'k1')
const attacker = await Signer.make('RS256', 'k1')

const ISSUER = 'https://idp.example/realms/r'
const METADATA = `resource_metadata="${BASE}${RESOURCE}/mcp"`
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

interface Scene {
  readonly keys: KeyServer
  readonly backend: Backend
  readonly gateway: RunningGateway
}

/** `fields` of the policy, `more` policies next to it, `scopes` that the metadata advertises. */
async function scene(fields = '', more = '', scopes = ''): Promise<Scene> {
  const keys = stage.add(await KeyServer.start(signer))
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const metadata = `resourceMetadata: { resource: "${BASE}/mcp", ${scopes} }`
  const auth = `issuer: "${ISSUER}", audiences: [mcp], jwks: "${keys.url}", ${metadata}, ${fields}`
  const gateway = await stage.gateway(
    `routes: [{ name: mcp, backends: [{ host: "127.0.0.1:${backend.port}" }],
      policies: { mcpAuthentication: { ${auth} }, ${more} } }]\n`,
  )
  return { keys, backend, gateway }
}

function claims(other: Record<string, unknown> = {}): Record<string, unknown> {
  return { iss: ISSUER, aud: 'mcp', exp: Math.floor(Date.now() / 1000) + 300, sub: 'u', ...other }
}

function bearer(other: Record<string, unknown> = {}): string {
  return `authorization: Bearer ${signer.token(claims(other))}`
}

async function call(gateway: RunningGateway, ...fields: string[]): Promise<Answer> {
  return ask(gateway, 'POST /mcp', fields, '{}')
}

guard('requires a token, and sends the metadata URL', async () => {
  const { backend, gateway } = await scene('', '', 'scopesSupported: [read]')
  for (const fields of [[], ['authorization: Basic YTpi'], ['authorization: abc']]) {
    const { status, headers, body } = await call(gateway, ...fields)
    assert.is(status, 401)
    assert.is(headers['www-authenticate'], `Bearer ${METADATA}`)
    assert.is(headers['content-type'], 'application/json')
    assert.is(body, '{"error":"unauthorized","error_description":"JWT token required"}')
  }
  assert.is(backend.received, '')
})

guard('names the kind of fault of a token, and none of its content', async () => {
  const { backend, gateway } = await scene()
  const table: [token: string, fault: string][] = [
    [signer.token(claims({ exp: 1 })), 'expired'],
    [signer.token(claims({ iss: 's3cr3t' })), 'issuer'],
    [signer.token(claims({ aud: 's3cr3t' })), 'audience'],
    [attacker.token(claims()), 'signature'],
    [signer.token(claims(), { kid: 's3cr3t' }), 'unknown key'],
    [signer.token(claims(), { alg: 'none' }), 'algorithm'],
    ['s3cr3t"', 'malformed'],
  ]
  for (const [token, fault] of table) {
    const { status, headers, body } = await call(gateway, `authorization: Bearer ${token}`)
    assert.is(status, 401)
    const challenge = `error="invalid_token", error_description="the token is not valid: ${fault}"`
    assert.is(headers['www-authenticate'], `Bearer ${challenge}, ${METADATA}`)
    const description = `JWT token is not valid: ${fault}`
    assert.equal(JSON.parse(body), { error: 'unauthorized', error_description: description })
  }
  await gateway.logged(table.length)
  assert.not.match(JSON.stringify(gateway.lines), /s3cr3t|eyJ/)
  assert.is(backend.received, '')
})

guard('sends the scopes to clients that must log in again', async () => {
  const rule = `authorization: { rules: ['"write" in jwt.scope.split(" ")'] }`
  const { gateway } = await scene('', rule, 'scopesSupported: [read, "api://c/write"]')
  const scope = 'scope="read api://c/write"'
  const expired = await call(gateway, bearer({ exp: 1 }))
  assert.match(expired.headers['www-authenticate']!, `${METADATA}, ${scope}`)
  const { status, headers, body } = await call(gateway, bearer({ scope: 'read' }))
  assert.equal([status, body], [403, 'authorization failed'])
  const challenge = 'error="insufficient_scope", error_description="the token lacks a scope"'
  assert.is(headers['www-authenticate'], `Bearer ${challenge}, ${METADATA}, ${scope}`)
  assert.is((await call(gateway, bearer({ scope: 'read write' }))).status, 200)
})

guard('does not send the token to the backend', async () => {
  const { backend, gateway } = await scene()
  assert.is((await call(gateway, bearer(), 'x-other: 1')).status, 200)
  assert.match(backend.received, 'x-other: 1')
  assert.not.match(backend.received, /authorization|eyJ/i)
})

guard('requires a token according to the mode', async () => {
  const table: [mode: string, none: number, bad: number][] = [
    ['', 401, 401],
    ['mode: strict', 401, 401],
    ['mode: optional', 200, 401],
    ['mode: permissive', 200, 200],
  ]
  for (const [mode, none, bad] of table) {
    const { gateway } = await scene(mode)
    assert.is((await call(gateway)).status, none, mode)
    assert.is((await call(gateway, bearer({ aud: 'x' }))).status, bad, mode)
    assert.is((await call(gateway, bearer(), bearer())).status, bad, mode)
    assert.is((await call(gateway, bearer())).status, 200, mode)
    assert.is((await ask(gateway, `GET ${RESOURCE}/mcp`)).status, 200, mode)
  }
})

guard('provides claims to rules only from valid tokens', async () => {
  const rule = `authorization: { rules: ['jwt.sub == "u"'] }`
  const { gateway } = await scene('mode: permissive', rule)
  assert.is((await call(gateway, bearer())).status, 200)
  for (const fields of [[], [bearer({ exp: 1 })], [bearer({ sub: 'v' })]])
    assert.is((await call(gateway, ...fields)).status, 403)
})

guard('responds with 503 when the keys are unavailable', async () => {
  const { keys, gateway } = await scene()
  keys.status = 500
  const { status, headers, body } = await call(gateway, bearer())
  assert.is(status, 503)
  assert.is(headers['www-authenticate'], undefined)
  assert.equal(JSON.parse(body), {
    error: 'temporarily_unavailable',
    error_description: 'signing keys of the issuer are unavailable',
  })
  assert.is((await call(gateway)).status, 401)
  assert.is((await ask(gateway, `GET ${RESOURCE}/mcp`)).status, 200)
  const permissive = await scene('mode: permissive')
  permissive.keys.status = 500
  assert.is((await call(permissive.gateway, bearer())).status, 200)
})

guard('fetches keys from the URL of each provider', async () => {
  const table: [provider: string, path: string, keys: string][] = [
    ['idp_realm: {}', '/realms/r', '/realms/r/protocol/openid-connect/certs'],
    ['idp_tenant: {}', '/t1/v2.0', '/t1/discovery/v2.0/keys'],
    ['idp_tenant: {}', '/t1/', '/t1/discovery/v2.0/keys'],
    ['auth0: {}', '/', '/.well-known/jwks.json'],
    ['', '/a', '/a/.well-known/jwks.json'],
  ]
  for (const [kind, path, keys] of table) {
    const provider = stage.add(await ProviderServer.start())
    provider.offer(keys, { keys: [signer.jwk] })
    const issuer = provider.origin + path
    const auth = `issuer: "${issuer}", audiences: [mcp], provider: { ${kind} }`
    const gateway = await stage.gateway(
      `routes: [{ policies: { directResponse: { status: 200 }, mcpAuthentication: { ${auth},
        resourceMetadata: { resource: "${BASE}/mcp" } } } }]\n`,
    )
    assert.is((await call(gateway, bearer({ iss: issuer }))).status, 200, issuer)
    assert.equal(provider.lines, [`GET ${keys}`])
  }
})

guard('serves documents and registration before other policies run', async () => {
  const more = `authorization: { rules: ["false"] }, apiKey: { mode: strict, keys: [{ key: k }] },
    requestRedirect: { scheme: https }`
  const { gateway } = await scene('clientId: c', more)
  assert.is((await ask(gateway, `GET ${RESOURCE}/mcp`)).status, 200)
  assert.is((await ask(gateway, `POST ${SERVER}/client-registration`, [], '{}')).status, 201)
  assert.is((await ask(gateway, `OPTIONS ${SERVER}/client-registration`)).status, 204)
})

guard('answers preflights, and allows pages to read its refusals', async () => {
  const cors = 'cors: { allowOrigins: ["https://page.example"], allowHeaders: ["*"] }'
  const auth = `issuer: "${ISSUER}", audiences: [mcp], resourceMetadata: { resource: "${BASE}/mcp" }`
  const gateway = await stage.gateway(
    `routes: [{ policies: { ${cors}, mcpAuthentication: { ${auth} } },
      backends: [{ mcp: { targets: [{ name: t, mcp: { host: "http://127.0.0.1:9/" } }] } }] }]\n`,
  )
  const origin = 'origin: https://page.example'
  const fields = [origin, 'access-control-request-method: POST']
  const preflight = await ask(gateway, 'OPTIONS /mcp', fields)
  assert.is(preflight.status, 200)
  assert.is(preflight.headers['access-control-allow-origin'], 'https://page.example')
  const { status, headers } = await call(gateway, origin)
  assert.is(status, 401)
  assert.is(headers['access-control-allow-origin'], 'https://page.example')
  assert.match(headers['access-control-expose-headers']!, 'www-authenticate')
})

guard('finds tokens only at the configured location', async () => {
  const { gateway } = await scene('authorizationLocation: { cookie: { name: t } }')
  const token = signer.token(claims())
  assert.is((await call(gateway, `cookie: a=b; t=${token}`)).status, 200)
  assert.is((await call(gateway, `authorization: Bearer ${token}`)).status, 401)
})

guard.run()
