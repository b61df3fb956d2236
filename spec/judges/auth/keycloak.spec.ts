// A real Keycloak as `idp_realm` provider, to confirm the double. It runs if Java is installed and Maven Central can be
// reached; otherwise a line reports the skip and its reason.

import { decodeJwt, decodeProtectedHeader } from 'jose'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask, initialize, checkAccess, tools } from '../../support/idp/ask-mcp.ts'
import type { Answer } from '../../support/idp/ask-mcp.ts'
import { browse } from '../../support/idp/browser.ts'
import { CALLBACK } from '../../support/idp/double.ts'
import { Guarded } from '../../support/idp/guarded.ts'
import { AUDIENCE, Keycloak } from '../../support/idp/keycloak.ts'
import { findKeycloak } from '../../support/idp/keycloak-files.ts'
import { logInOpenid } from '../../support/idp/login-openid.ts'
import { logInV1, logInV2 } from '../../support/idp/logins.ts'
import { until } from '../../support/idp/until.ts'
import type { Browse } from '../../support/idp/wallet.ts'
import { reportSkip } from '../../support/report-skip.ts'

const judge = suite('Keycloak')

const COOLDOWN_MS = 45_000
const REGISTRATION = '/.well-known/oauth-authorization-server/client-registration'
const RULE = '"mcp-user" in jwt.realm_access.roles'

interface Running {
  readonly keycloak: Keycloak
  /** The gateway as authorization server, with a rule on roles. */
  readonly guarded: Guarded
  /** The realm itself as authorization server. */
  readonly open: Guarded
}

async function start(home: string): Promise<Running> {
  const keycloak = await Keycloak.start(home)
  const authentication = {
    issuer: keycloak.issuer,
    audiences: [AUDIENCE],
    provider: { idp_realm: {} },
  }
  const guarded = await Guarded.start({ authentication, rules: [RULE], scopes: ['mcp'] })
  const open = await Guarded.start({
    authentication: { ...authentication, issuerMode: 'provider' },
    layout: 'listener',
  })
  return { keycloak, guarded, open }
}

/** Awaited in each test, so that each fails with the reason if the start fails. */
function runningFor(home: string): () => Promise<Running> {
  let starting: Promise<Running> | undefined
  judge.after(async () => {
    const running = await starting?.catch(() => null)
    await running?.guarded.stop()
    await running?.open.stop()
    await running?.keycloak.stop()
  })
  return () => (starting ??= start(home))
}

function at({ keycloak }: Running, name: 'ada' | 'bob'): Browse {
  return (url) => browse(url, CALLBACK, keycloak.passwordOf(name))
}

function addLogins(running: () => Promise<Running>): void {
  judge('SDK v1 registers and logs in through the gateway, with the login form', async () => {
    const all = await running()
    const client = await logInV1(all.guarded.url, at(all, 'ada'))
    assert.equal(await client.tools(), ['echo', 'add', 'time', 'slow_count'])
    const claims = decodeJwt(client.wallet.current!.access_token)
    assert.is(claims.iss, all.keycloak.issuer)
    assert.is(claims.aud, AUDIENCE)
    const { roles } = claims['realm_access'] as { roles: string[] }
    assert.ok(roles.includes('mcp-user'))
    await client.close()
  })

  judge('a user without the role can log in, and is refused', async () => {
    const all = await running()
    const failure = await logInV1(all.guarded.url, at(all, 'bob')).then(
      () => 'admitted',
      (error: Error) => error.message,
    )
    assert.match(failure, 'authorization failed')
    const { token } = await logInOpenid(all.open.url, at(all, 'bob'), 'oauth2')
    assert.is(await checkAccess(all.guarded.url, token), 403)
    assert.is(await checkAccess(all.open.url, token), 'admitted')
  })

  judge('SDK v1 refreshes a token that is refused', async () => {
    const all = await running()
    const client = await logInV1(all.guarded.url, at(all, 'ada'))
    const { wallet } = client
    const bad = `${wallet.current!.access_token.slice(0, -8)}AAAAAAAA`
    wallet.current = { ...wallet.current!, access_token: bad }
    assert.is(await client.echo('still here'), 'still here')
    assert.is.not(wallet.current.access_token, bad)
    assert.is(wallet.logins, 1)
    await client.close()
  })

  judge(
    'client v2 and openid-client log in at the realm itself, and not through the gateway',
    async () => {
      const all = await running()
      const client = await logInV2('whole')(all.open.url, at(all, 'ada'))
      assert.is(await client.echo('v2'), 'v2')
      await client.close()
      const { token } = await logInOpenid(all.open.url, at(all, 'ada'), 'oidc')
      assert.equal(await tools(all.open.url, token), ['echo', 'add', 'time', 'slow_count'])
      const failure = await logInV2('whole')(all.guarded.url, at(all, 'ada')).then(
        () => 'admitted',
        (error: Error) => error.name,
      )
      assert.is(failure, 'IssuerMismatchError')
    },
  )
}

function addOthers(running: () => Promise<Running>): void {
  judge('a refusal of the trusted hosts policy arrives unchanged', async () => {
    const { keycloak, guarded } = await running()
    const register = (url: URL | string): Promise<Answer> =>
      ask(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: 'a', redirect_uris: ['https://untrusted.example/'] }),
      })
    const passed = await register(guarded.at(REGISTRATION))
    const own = await register(`${keycloak.issuer}/clients-registrations/openid-connect`)
    assert.is(passed.status, 403)
    assert.match(passed.text, "Policy 'Trusted Hosts' rejected request to client-registration")
    assert.is(passed.text, own.text)
    assert.is(passed.headers.get('content-type'), own.headers.get('content-type'))
  })

  judge('a new key is used while requests continue', async () => {
    const all = await running()
    const logIn = async (): Promise<string> =>
      (await logInOpenid(all.open.url, at(all, 'ada'), 'oauth2')).token
    const before = await logIn()
    assert.is(await checkAccess(all.guarded.url, before), 'admitted')
    await all.keycloak.rotate(200)
    const after = await logIn()
    assert.is.not(decodeProtectedHeader(after).kid, decodeProtectedHeader(before).kid)
    await until(
      async () => [
        await checkAccess(all.guarded.url, before),
        await checkAccess(all.guarded.url, after),
      ],
      ([old, fresh]) => {
        assert.is(old, 'admitted')
        return fresh === 'admitted'
      },
      COOLDOWN_MS,
    )
    assert.is((await initialize(all.guarded.url, after)).status, 200)
  })

  judge('no password or token is in the log', async () => {
    const { guarded, open } = await running()
    assert.not.match(guarded.log + open.log, /planted-password|eyJ[\w-]{20,}/)
  })
}

const found = await findKeycloak()
if (found.kind === 'found') {
  const running = runningFor(found.home)
  addLogins(running)
  addOthers(running)
} else reportSkip('Keycloak', found.why)

judge.run()
