// A hostile provider: its documents must not make this process call its own network, nor impersonate another provider.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { OAuthStarted } from '../../../lib/admin/page-api/page-api-types.ts'
import { Stage } from '../../support/gateway.ts'
import { answer, Host } from '../../support/idp/host.ts'
import { Demo, TARGET } from './demo.ts'

const hostile = suite('ui/playground: a hostile provider')
const stage = new Stage()
hostile.after.each(() => stage.clear())

type Members = Record<string, unknown>

interface Told {
  readonly status: number
  readonly text: string
}

async function host(handler: ConstructorParameters<typeof Host>[0]): Promise<Host> {
  const one = new Host(handler)
  await one.up()
  stage.add({ close: () => one.down() })
  return one
}

/** `bent` is what its document says otherwise than it should. */
async function provider(bent: (origin: string) => Members): Promise<Host> {
  const one: Host = await host(({ url, body }, response) => {
    const { origin } = one
    if (url === '/register') return answer(response, 201, { client_id: 'mine' })
    if (url === '/echo') return answer(response, 400, { error: 'e', error_description: body })
    if (url === '/token') return answer(response, 200, { access_token: 'at', token_type: 'Bearer' })
    answer(response, 200, {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      keys: [],
      ...bent(origin),
    })
  })
  return one
}

function demoOf(issuer: string, issuerMode: string): Promise<Demo> {
  const resource =
    "resourceMetadata: { resource: 'http://127.0.0.1:${PORT}/mcp', scopesSupported: [a] }"
  const own = `mode: strict, issuer: '${issuer}', issuerMode: ${issuerMode}, audiences: [a], jwks: { url: '${issuer}/jwks' }, ${resource}`
  const policies = `{ mcpAuthentication: { ${own} } }`
  return Demo.start(stage, `mcp: { targets: [${TARGET}], policies: ${policies} }\n`)
}

function tell(demo: Demo, path: string, body: object): Promise<Told> {
  const headers = { 'content-type': 'application/json' }
  const text = JSON.stringify(body)
  return demo.ask(`${demo.origin}/api/oauth/${path}`, { method: 'POST', headers, body: text })
}

function start(demo: Demo): Promise<Told> {
  const redirectUri = `${demo.origin}/ui/signed-in`
  return tell(demo, 'start', { backend: demo.place.backend.key, redirectUri })
}

for (const mode of ['provider', 'gateway'])
  hostile(`endpoints that are neighbours of this process are not asked (${mode})`, async () => {
    const victim = await host((_request, response) => answer(response, 500, { error: 'secret' }))
    const { port } = new URL(victim.origin)
    const bent = [
      { token_endpoint: `${victim.origin}/quitquitquit` },
      { token_endpoint: `http://2130706433:${port}/x` },
      { token_endpoint: `http://localhost:${port}/x` },
      { token_endpoint: `https://127.0.0.1:${port}/x` },
      { authorization_endpoint: `${victim.origin}/authorize` },
    ]
    for (const members of bent) {
      const demo = await demoOf((await provider(() => members)).origin, mode)
      const { status, text } = await start(demo)
      assert.is(status, 502, JSON.stringify(members))
      assert.match(text, /_endpoint of the authorization server is not safe to use/)
    }
    const demo = await demoOf(
      (await provider(() => ({ registration_endpoint: `${victim.origin}/register` }))).origin,
      mode,
    )
    const { status, text } = await start(demo)
    assert.is(status, 422)
    assert.match(text, /does not register clients/)
    assert.equal(victim.requests, [])
  })

hostile('a name that resolves to an inner address is not called, over TLS either', async () => {
  const victim = await host((_request, response) => answer(response, 500, {}))
  const bent = { token_endpoint: `https://localhost.:${new URL(victim.origin).port}/x` }
  const demo = await demoOf((await provider(() => bent)).origin, 'provider')
  const { state } = JSON.parse((await start(demo)).text) as OAuthStarted
  const { status, text } = await tell(demo, 'finish', { state, code: 'c', iss: null })
  assert.is(status, 502)
  assert.match(text, /is not allowed: it is inside this network|does not respond/)
  assert.equal(victim.requests, [])
})

hostile('what a provider repeats of a login is not shown, and not without end', async () => {
  const one = await provider((origin) => ({ token_endpoint: `${origin}/echo` }))
  const demo = await demoOf(one.origin, 'provider')
  const { state } = JSON.parse((await start(demo)).text) as OAuthStarted
  const { status, text } = await tell(demo, 'finish', { state, code: 'very-secret', iss: null })
  assert.is(status, 502)
  assert.match(text, /^{"error":"no token: e: grant_type=authorization_code&code=…&/)
  const { body = '' } = one.requests.find(({ url }) => url === '/echo') ?? {}
  assert.match(body, /&code=very-secret&/)
  assert.not.match(text, new URLSearchParams(body).get('code_verifier') ?? '&')
  assert.ok(text.length < 350)
})

hostile('a document that names another issuer is not used', async () => {
  const one = await provider(() => ({ issuer: 'https://honest.example' }))
  const { status, text } = await start(await demoOf(one.origin, 'provider'))
  assert.is(status, 502)
  assert.match(text, /names another issuer/)
})

for (const mode of ['provider', 'gateway'])
  hostile(
    `an answer that names another issuer is not used, promised or not (${mode})`,
    async () => {
      const one = await provider(() => ({}))
      const demo = await demoOf(one.origin, mode)
      const finish = async (iss: string | null): Promise<number> => {
        const { state } = JSON.parse((await start(demo)).text) as OAuthStarted
        return (await tell(demo, 'finish', { state, code: 'c', iss })).status
      }
      assert.is(await finish('https://evil.example'), 502)
      assert.is(one.count('/token'), 0)
      assert.is(await finish(one.origin), 200)
      assert.is(await finish(null), 200)
    },
  )

hostile.run()
