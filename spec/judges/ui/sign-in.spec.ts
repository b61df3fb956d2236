// A complete login in one browser, with the windows it opens: the button in the playground, the page of a real provider, and
// a call with the token.

import type { ServerResponse } from 'node:http'
import * as assert from 'uvu/assert'
import type { Request } from '../../support/idp/host.ts'
import { RealmDouble } from '../../support/idp/realm-double.ts'
import { SigningKeys } from '../../support/idp/signing-keys.ts'
import { judgeOf } from '../../support/ui/judge.ts'
import type { World } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { DEMO_TARGET, Shop } from '../../support/ui/shop.ts'
import type { Visit } from '../../support/ui/visit.ts'

const MOUNT = '/realms/test'

const FORM = `<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,">
<form method="post"><button name="person" value="ada">I am Ada</button>
<button name="person" value="bob">I am Bob</button></form></html>`

/** A provider with a sign-in page. */
class AskingRealm extends RealmDouble {
  static async begin(): Promise<AskingRealm> {
    return new AskingRealm(await SigningKeys.create(), MOUNT).up()
  }

  protected override answers(request: Request, response: ServerResponse): boolean {
    if (!request.url.startsWith(`${MOUNT}/interaction/`)) return super.answers(request, response)
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(FORM)
      return true
    }
    this.user = new URLSearchParams(request.body).get('person') === 'bob' ? 'bob' : 'ada'
    return false
  }
}

interface Guarded extends World {
  readonly realm: AskingRealm
}

async function start(): Promise<Guarded> {
  const realm = await AskingRealm.begin()
  const shop = await Shop.start({
    routes: ` []
mcp:
  targets: [${DEMO_TARGET}]
  policies:
    mcpAuthentication:
      mode: strict
      issuer: ${realm.issuer}
      audiences: ['${realm.audience}']
      provider: { idp_realm: {} }
      resourceMetadata: { resource: 'http://127.0.0.1:\${PORT}/mcp', scopesSupported: [mcp] }
    authorization: { rules: ['"mcp-user" in jwt.realm_access.roles'] }
`,
  })
  const close = async (): Promise<void> => {
    await shop.close()
    await realm.down()
  }
  return { realm, origin: shop.origin, close }
}

const login = judgeOf('ui: sign in', start)

/** Signs in as a user: the button, the provider's page, and back. */
async function signIn({ realm }: Guarded, visit: Visit, user: string): Promise<void> {
  const { host } = new URL(realm.issuer)
  const opening = visit.page.waitForEvent('popup')
  await visit.tabTo(visit.page.getByRole('button', { name: `Sign in at ${host}` }))
  await visit.press('Enter')
  const window = await opening
  visit.watch(window, [realm.host.origin])
  await window.getByRole('button', { name: `I am ${user}` }).click()
}

login('a token obtained at the provider calls a tool', async ({ world, visit }) => {
  await visit.open('mcp')
  await visit.sees('.backend', 'sign in at 127.0.0.1')
  await signIn(world, visit, 'Ada')
  await visit.sees('.connected', /connected[^]*token …\S{4}, until/)
  await visit.page.getByRole('button', { name: /^add/ }).click()
  await visit.page.getByRole('textbox', { name: /^a\b/ }).fill('20')
  await visit.page.getByRole('textbox', { name: /^b\b/ }).fill('22')
  await visit.press('Enter')
  await visit.sees('.result', /^\W*42$/m)
  const text = await visit.asks<string>('document.documentElement.outerHTML')
  assert.not.match(text, /eyJ[\w-]+\.eyJ/)
  assert.is(
    await visit.asks('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'),
    '[{},{}]',
  )
})

login('a user without access gets an explanation', async ({ world, visit }) => {
  visit.expect(/status of 403/)
  await visit.open('mcp')
  await signIn(world, visit, 'Bob')
  await visit.sees('.playground', 'This token has no access.')
})

login('without a token it says that one is required, and accepts a pasted one', async (seat) => {
  const { world, visit } = seat
  visit.expect(/status of 401/)
  await visit.open('mcp')
  await visit.page.getByText('No token').click()
  await visit.page.getByRole('button', { name: 'Connect' }).click()
  await visit.sees('.playground', 'A token is required.')
  world.realm.user = 'ada'
  await visit.page.getByText('Paste a token').click()
  await visit.page.getByPlaceholder(/Bearer token/).fill(await world.realm.token())
  await visit.press('Enter')
  await visit.sees('.connected', 'connected')
})

login(
  'the page asks for a client id if the provider does not register clients',
  async ({ world, visit }) => {
    world.realm.trusts = 'no'
    visit.expect(/status of 422/)
    await visit.open('mcp')
    await visit.page.getByRole('button', { name: /^Sign in at/ }).click()
    await visit.sees('.playground', `${world.origin}/ui/signed-in`)
    await visit.page.getByRole('textbox', { name: 'Client id' }).waitFor()
    await assertPresentable(visit)
  },
)

login.run()
