// Responses to clients when the provider of registration and tokens hangs, redirects or sends garbage.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../../lib/core/refusal-counter.ts'
import { createFetcher } from '../../../lib/http/fetch-document.ts'
import type { FetchDocument } from '../../../lib/http/fetch-document.ts'
import { MAX_PROVIDER_CALLS, ProviderCalls } from '../../../lib/enforce/oauth/provider-requests.ts'
import type { Reply } from '../../../lib/core/types.ts'
import { deadline } from '../../support/deadline.ts'
import { contentOf } from '../../support/exchange-of.ts'
import { LogRecorder, Stage } from '../../support/gateway.ts'
import type { Line } from '../../support/gateway.ts'
import { ask, protectedBy, SERVER } from './asking.ts'
import { ProviderServer } from './provider-server.ts'

const calls = suite('provider calls')
const stage = new Stage()
calls.after.each(() => stage.clear())

interface Scene {
  readonly provider: ProviderServer
  readonly lines: Line[]
  readonly refusals: RefusalCounter
  post: (path: string) => Promise<Reply>
}

async function scene(timeout = 5000): Promise<Scene> {
  const provider = stage.add(await ProviderServer.start())
  const { origin } = provider
  const { fetch } = stage.add(createFetcher())
  const lines: Line[] = []
  const quick: FetchDocument = (url, options) => fetch(url, { ...options, timeout })
  const refusals = new RefusalCounter()
  const log = new LogRecorder((line) => lines.push(line))
  const made = new ProviderCalls({ post: quick, log, refusals })
  const body = Buffer.from('code=hush')
  const post = (path: string): Promise<Reply> =>
    deadline(made.post('token request', { url: origin + path, headers: {}, body }), 5000, path)
  return { provider, lines, refusals, post }
}

async function describe(reply: Promise<Reply>): Promise<unknown[]> {
  const { head, body, tunnel } = await reply
  const { error, error_description: description } = JSON.parse(
    contentOf({ head, body, tunnel }),
  ) as Record<string, string>
  return [head.status, error, description]
}

calls('report that the provider is down, with its host', async () => {
  const { provider, lines, post } = await scene(200)
  const { host } = provider
  const down = [502, 'temporarily_unavailable']
  provider.says.set('POST /hang', 'hang')
  provider.says.set('POST /giant', { body: 'x'.repeat(1_048_577) })
  for (const [path, failure] of [
    ['/hang', 'does not respond'],
    ['/giant', 'sent a document of more than 1048576 bytes'],
  ] as const)
    assert.equal(await describe(post(path)), [
      ...down,
      `the identity provider failed: ${host} ${failure}`,
    ])
  await provider.close()
  assert.equal(await describe(post('/refused')), [
    ...down,
    `the identity provider failed: ${host} does not respond`,
  ])
  assert.is(lines.length, 3)
  assert.not.match(JSON.stringify(lines), 'hush')
})

calls('neither follow a redirect nor pass it to the client', async () => {
  const { provider, post } = await scene()
  for (const status of [301, 302, 303, 307, 308]) {
    provider.says.set('POST /moved', { status, headers: { location: 'https://evil.example/' } })
    const reply = await post('/moved')
    assert.is(reply.head.status, 502)
    assert.is(reply.head.get('location'), undefined)
  }
  assert.is(provider.received.length, 5)
})

calls('return every byte of the response', async () => {
  const { provider, post } = await scene()
  const body = Buffer.from([...Array(256).keys()])
  const headers = { 'content-type': 'application/json', 'content-encoding': 'br' }
  provider.says.set('POST /bytes', { status: 400, headers, body })
  const reply = await post('/bytes')
  assert.is(contentOf(reply), body.toString('latin1'))
  assert.is(reply.head.get('content-encoding'), 'br')
})

calls('isolate pages of the provider', async () => {
  const { provider, post } = await scene()
  const body = '<script>alert(1)</script>'
  provider.says.set('POST /html', { status: 500, headers: { 'content-type': 'text/html' }, body })
  const reply = await post('/html')
  assert.equal([reply.head.status, contentOf(reply)], [500, body])
  assert.is(reply.head.get('content-security-policy'), "default-src 'none'; sandbox")
  assert.is(reply.head.get('x-content-type-options'), 'nosniff')
})

calls('are bounded while a provider hangs', async () => {
  const { provider, post, refusals } = await scene(500)
  provider.says.set('POST /hang', 'hang')
  const waiting = Array.from({ length: MAX_PROVIDER_CALLS }, () => post('/hang'))
  const more = await post('/hang')
  assert.is(more.head.status, 503)
  assert.is(refusals.counts.get('providerCalls'), 1)
  for (const reply of await deadline(Promise.all(waiting), 30_000, 'the calls'))
    assert.is(reply.head.status, 502)
  provider.says.set('POST /well', { body: '{}' })
  assert.is((await post('/well')).head.status, 200)
})

calls('do not affect the rest of the gateway while the provider is down', async () => {
  const provider = stage.add(await ProviderServer.start())
  const { origin, host } = provider
  await provider.close()
  const fields = `issuer: "${origin}/t1/v2.0", provider: { idp_tenant: {} }, clientId: abc`
  const gateway = await stage.gateway(protectedBy(fields))
  const form = ['content-type: application/x-www-form-urlencoded']
  for (const answer of [
    await ask(gateway, `GET ${SERVER}`),
    await ask(gateway, `GET ${SERVER}/mcp`),
    await ask(gateway, `POST ${SERVER}/token`, form, 'code=hush'),
  ]) {
    assert.is(answer.status, 502)
    assert.is(answer.headers['access-control-allow-origin'], '*')
    assert.equal(JSON.parse(answer.body), {
      error: 'temporarily_unavailable',
      error_description: `the identity provider failed: ${host} does not respond`,
    })
  }
  const pkce = `code_challenge=${'a'.repeat(43)}&code_challenge_method=S256`
  assert.is((await ask(gateway, `GET ${SERVER}/authorize?${pkce}`)).status, 302)
  assert.is((await ask(gateway, `POST ${SERVER}/client-registration`, [], '{}')).status, 201)
  assert.not.match(JSON.stringify(gateway.lines), 'hush')
})

calls.run()
