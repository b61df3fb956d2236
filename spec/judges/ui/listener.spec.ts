// The page on a gateway's own listener, in a browser with the credentials that its policies require: it shows the same data, and
// cannot change anything.

import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { Signer } from '../../support/signer.ts'
import { judgeOf } from '../../support/ui/judge.ts'
import type { World } from '../../support/ui/judge.ts'
import { DEMO_TARGET, Shop } from '../../support/ui/shop.ts'
import type { Visit } from '../../support/ui/visit.ts'
import { mainScript } from '../../support/ui/page-files.ts'

const WAIT_MS = 30_000
const ISSUER = 'https://id.test'

const ROUTES = `
  - name: hello
    matches: [{ path: { exact: /hello } }]
    policies: { directResponse: { status: 200, body: hello } }
  - name: tools
    matches: [{ path: { exact: /mcp } }]
    backends: [{ mcp: { targets: [${DEMO_TARGET}] } }]
`

interface Listener extends World {
  readonly shop: Shop
}

/** `policies` of the UI, as YAML in flow form without braces. */
async function start(policies: string): Promise<Listener> {
  const shop = await Shop.start({ routes: ROUTES, more: `ui: { policies: { ${policies} } }\n` })
  const origin = `http://127.0.0.1:${shop.port}`
  return { shop, origin, close: () => shop.close() }
}

/** The password of `ops` is `pass`. */
const BASIC =
  'basicAuth: { htpasswd: "ops:$2b$04$wy1SMQQ5Sr6dT0hExHwcquf7a19hsuUNSrCzxgpwzwYVX1Hjxrbtm" }'

const listener = judgeOf('ui: on a listener', () => start(BASIC))
const OPS = { httpCredentials: { username: 'ops', password: 'pass' } }

const PATHS = ['/ui', mainScript(), '/api/runtime', '/api/live?topics=logs']

/** Sends a request as a program, without credentials or with these headers. */
async function statusesOf({ origin }: World, headers = {}): Promise<number[]> {
  const ask = async (path: string): Promise<number> => {
    const answer = await deadline(fetch(origin + path, { headers }), WAIT_MS, path)
    await answer.body?.cancel()
    return answer.status
  }
  return Promise.all(PATHS.map(ask))
}

/** Live data included. */
async function assertWorks({ shop }: Listener, visit: Visit): Promise<void> {
  await visit.open()
  await visit.sees('.status', 'live')
  assert.is(await shop.send('/hello'), 200)
  await visit.sees('.requests tbody tr', /200\s+GET\s+\/hello/)
  await visit.follow('map')
  await visit.sees('.box.route', 'hello')
}

listener('without the password, everything is refused', async ({ world }) => {
  assert.equal(await statusesOf(world), [401, 401, 401, 401])
  const wrong = `Basic ${Buffer.from('ops:no').toString('base64')}`
  assert.equal(await statusesOf(world, { authorization: wrong }), [401, 401, 401, 401])
  const right = `Basic ${Buffer.from('ops:pass').toString('base64')}`
  assert.equal(await statusesOf(world, { authorization: right }), [200, 200, 200, 200])
})

listener('with a password it works, including live data', async ({ world, enter }) => {
  await assertWorks(world, await enter(OPS))
})

listener('a password in the URL works as well', async ({ world, enter }) => {
  const origin = world.origin.replace('//', '//ops:pass@')
  const visit = await enter({}, world.origin)
  await visit.page.goto(`${origin}/ui`)
  await visit.sees('.status', 'live')
  await visit.sees('.facts', 'ready')
})

listener('has no form that changes settings', async ({ enter }) => {
  const visit = await enter(OPS)
  await visit.open('logs')
  await visit.sees('.level-card', 'It can be changed on the admin interface only')
  assert.is(await visit.page.locator('.level-card form').count(), 0)
  assert.is(await visit.page.getByRole('button', { name: 'Set' }).count(), 0)
})

listener('the playground calls its tools directly, as any client', async ({ enter }) => {
  const visit = await enter(OPS)
  const asked: string[] = []
  visit.page.on('request', (one) => asked.push(`${one.method()} ${new URL(one.url()).pathname}`))
  await visit.open('mcp')
  await visit.page.getByRole('button', { name: 'Connect' }).click()
  await visit.page.getByRole('button', { name: /^echo/ }).click()
  await visit.page.getByRole('textbox', { name: /^text\b/ }).fill('from here')
  await visit.page.getByRole('button', { name: 'Call', exact: true }).click()
  await visit.sees('.result', 'from here')
  assert.ok(asked.includes('POST /mcp'))
  const others = asked.filter((one) => one.startsWith('POST') && one !== 'POST /mcp')
  assert.equal(others, [])
})

listener('with a key in a cookie it works, and without it says what is missing', async (seat) => {
  const keyed = await start(
    'apiKey: { mode: strict, keys: [{ key: key-of-ops }], location: { cookie: { name: key } } }',
  )
  try {
    assert.equal(await statusesOf(keyed), [401, 401, 401, 401])
    const visit = await seat.enter({}, keyed.origin)
    visit.expect(/status of 401/)
    const answer = await visit.page.goto(`${keyed.origin}/ui`)
    assert.is(answer?.status(), 401)
    const cookie = { name: 'key', value: 'key-of-ops', url: keyed.origin, httpOnly: true }
    await visit.page.context().addCookies([cookie])
    await assertWorks(keyed, visit)
    // An open page reports that its credentials are no longer valid.
    await visit.page.context().clearCookies()
    await visit.follow('limits')
    await visit.sees('main', 'You are not signed in.')
    await visit.page.goto('about:blank')
  } finally {
    await keyed.close()
  }
})

listener('with a token in a cookie it works for users that the rules admit', async (seat) => {
  const signer = await Signer.make('ES256', 'one')
  const jwks = JSON.stringify({ keys: [signer.jwk] })
  const jwt = `jwtAuth: { mode: strict, issuer: '${ISSUER}', jwks: '${jwks}', location: { cookie: { name: session } } }`
  const ruled = await start(`${jwt}, authorization: { rules: ['jwt.role == "ops"'] }`)
  const exp = Math.floor(Date.now() / 1000) + 3600
  const cookieOf = (role: string): string => `session=${signer.token({ iss: ISSUER, exp, role })}`
  try {
    assert.equal(await statusesOf(ruled), [401, 401, 401, 401])
    assert.equal(await statusesOf(ruled, { cookie: cookieOf('guest') }), [403, 403, 403, 403])
    const visit = await seat.enter({}, ruled.origin)
    const [name = '', value = ''] = cookieOf('ops').split('=')
    await visit.page.context().addCookies([{ name, value, url: ruled.origin, httpOnly: true }])
    await assertWorks(ruled, visit)
    await visit.page.goto('about:blank')
  } finally {
    await ruled.close()
  }
})

listener.run()
