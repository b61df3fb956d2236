// Routing of the well-known metadata paths of a host, with one protected resource, with several, and with other routes.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, OPENID, read, RESOURCE, SERVER } from '../../enforce/oauth/asking.ts'
import { ProviderServer } from '../../enforce/oauth/provider-server.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'

const routes = suite('config/metadata routes')
const stage = new Stage()
routes.after.each(() => stage.clear())

const HOST = 'http://g.example'

interface ProtectedRoute {
  readonly at: string
  readonly issuer: string
  readonly resource?: string
  readonly more?: string
}

/** A protected route on one path with a direct response. */
function protectedRoute({
  at,
  issuer,
  resource = `${HOST}${at}`,
  more = '',
}: ProtectedRoute): string {
  const auth = `issuer: "${issuer}", audiences: [a], provider: { idp_realm: {} }`
  const metadata = `resourceMetadata: { resource: "${resource}" }`
  return `{ name: "${at.replaceAll('/', '_')}", matches: [{ path: { pathPrefix: ${at} } }], ${more}
    policies: { directResponse: { status: 200 }, mcpAuthentication: { ${auth}, ${metadata} } } }`
}

function openRoute(match: string, body: string): string {
  return `{ name: ${body}, matches: [{ path: { ${match} } }], policies: { directResponse: { status: 200, body: ${body} } } }`
}

async function start(...routeTexts: string[]): Promise<RunningGateway> {
  return stage.gateway(`routes:\n${routeTexts.map((text) => `- ${text}\n`).join('')}`)
}

async function startRealm(): Promise<ProviderServer> {
  const provider = stage.add(await ProviderServer.start())
  provider.offer(`/realms/r${OPENID}`, { issuer: `${provider.origin}/realms/r` })
  return provider
}

async function statusOf(gateway: RunningGateway, path: string): Promise<number> {
  return (await ask(gateway, `GET ${path}`)).status
}

const ISSUER = 'http://idp.example/realms/r'

routes('serves the metadata of a protected route on one path', async () => {
  const { origin } = await startRealm()
  const gateway = await start(protectedRoute({ at: '/mcp', issuer: `${origin}/realms/r` }))
  const { headers } = await ask(gateway, 'POST /mcp')
  const [, url = ''] = /resource_metadata="([^"]+)"/.exec(headers['www-authenticate'] ?? '') ?? []
  const { authorization_servers: servers } = await read(gateway, new URL(url).pathname)
  assert.equal(servers, [`${HOST}/mcp`])
  for (const path of [`${SERVER}/mcp`, `${OPENID}/mcp`, `/mcp${SERVER}`, `/mcp${OPENID}`])
    assert.is((await read(gateway, path))['issuer'], `${HOST}/mcp`, path)
  for (const path of [SERVER, OPENID]) {
    const document = await read(gateway, path)
    assert.is(document['issuer'], HOST, path)
    assert.is(document['registration_endpoint'], `${HOST}${SERVER}/client-registration`, path)
  }
  assert.is(await statusOf(gateway, RESOURCE), 200)
  assert.is(await statusOf(gateway, '/else'), 404)
})

routes('separates resources of one host, which share their authorization server', async () => {
  const { origin } = await startRealm()
  const issuer = `${origin}/realms/r`
  const gateway = await start(
    protectedRoute({ at: '/a', issuer }),
    protectedRoute({ at: '/b', issuer }),
  )
  for (const at of ['/a', '/b']) {
    assert.is((await read(gateway, `${RESOURCE}${at}`))['resource'], `${HOST}${at}`)
    const { issuer: named, registration_endpoint: url } = await read(gateway, `${SERVER}${at}`)
    assert.is(named, `${HOST}${at}`)
    assert.is(url, `${HOST}${SERVER}/client-registration`)
  }
  assert.is(await statusOf(gateway, RESOURCE), 404)
  assert.is((await read(gateway, SERVER))['issuer'], HOST)
})

routes('separates authorization servers of one host, including client registration', async () => {
  const providers = [await startRealm(), await startRealm()]
  const paths = ['/a', '/b']
  const gateway = await start(
    ...providers.map(({ origin }, i) =>
      protectedRoute({ at: paths[i]!, issuer: `${origin}/realms/r` }),
    ),
  )
  for (const [i, provider] of providers.entries()) {
    const post = 'POST /realms/r/clients-registrations/openid-connect'
    provider.says.set(post, { status: 201, body: `"${i}"` })
    const document = await read(gateway, `${SERVER}${paths[i]}`)
    const { pathname } = new URL(String(document['registration_endpoint']))
    assert.is(pathname, `${SERVER}${paths[i]}/client-registration`)
    const { status, body } = await ask(gateway, `POST ${pathname}`, [], '{}')
    assert.equal([status, body, provider.lines.at(-1)], [201, `"${i}"`, post])
  }
  for (const path of [RESOURCE, SERVER, OPENID, `${SERVER}/client-registration`])
    assert.is(await statusOf(gateway, path), 404, path)
})

routes('leaves configured paths to their routes', async () => {
  const { origin } = await startRealm()
  const gateway = await start(
    protectedRoute({ at: '/mcp', issuer: `${origin}/realms/r` }),
    openRoute('pathPrefix: /', 'rest'),
    openRoute(`exact: ${OPENID}/mcp`, 'exact'),
  )
  for (const path of [RESOURCE, SERVER, OPENID, `${SERVER}/other`])
    assert.is((await ask(gateway, `GET ${path}`)).body, 'rest', path)
  assert.is((await ask(gateway, `GET ${OPENID}/mcp`)).body, 'exact')
  const { issuer, registration_endpoint: url } = await read(gateway, `${SERVER}/mcp`)
  assert.is(issuer, `${HOST}/mcp`)
  assert.is(url, `${HOST}${SERVER}/mcp/client-registration`)
  assert.is(await statusOf(gateway, `${RESOURCE}/mcp`), 200)
})

routes('selects the metadata by host if resources have different hosts', async () => {
  const hosted = (host: string): string =>
    protectedRoute({
      at: '/mcp',
      issuer: ISSUER,
      resource: `https://${host}/mcp`,
      more: `hostnames: [${host}],`,
    }).replace('_mcp', host)
  const gateway = await start(hosted('one.example'), hosted('two.example'))
  for (const host of ['one.example', 'two.example'])
    for (const path of [RESOURCE, `${RESOURCE}/mcp`]) {
      const { body } = await ask(gateway, `GET ${path}`, [`host: ${host}`])
      assert.is(JSON.parse(body).resource, `https://${host}/mcp`)
    }
})

routes('serves the resource at the root from the root path', async () => {
  const root = protectedRoute({ at: '/', issuer: ISSUER })
  const gateway = await start(root, protectedRoute({ at: '/mcp', issuer: `${ISSUER}2` }))
  assert.is((await read(gateway, RESOURCE))['resource'], `${HOST}/`)
  assert.is((await read(gateway, `${RESOURCE}/mcp`))['resource'], `${HOST}/mcp`)
  assert.is(await statusOf(gateway, `${RESOURCE}/other`), 404)
})

routes.run()
