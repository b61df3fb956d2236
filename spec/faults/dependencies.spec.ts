// Dependencies that fail: child processes, the rate limit service, the identity provider, LLM providers and MCP servers.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { begin, McpClient, mcpText, puppet } from '../forward/mcp/mcp-client.ts'
import type { Answer, Json } from '../forward/mcp/mcp-client.ts'
import { isRunning } from '../forward/mcp/stdio/owner.ts'
import { childFile } from '../support/children/child-file.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { KeyServer } from '../support/key-server.ts'
import { aiRoute, CHAT, chatAsking, remainingTokens, post, tokens } from '../support/llm/asking.ts'
import { RlsDouble } from '../support/rls/double.ts'
import { Signer } from '../support/signer.ts'
import {
  HEAD,
  OK,
  ask,
  assertNothingLeft,
  assertLogged,
  until,
  assertNoHandleLeft,
} from './fault-support.ts'

const faults = suite('faults of dependencies')
const stage = new Stage()
assertNoHandleLeft(faults)
faults.after.each(() => stage.clear())

async function errorOf(answer: Answer): Promise<string> {
  await answer.whole()
  const message = answer.messages.at(-1) ?? (await answer.only())
  return String((message['error'] as Json)['message'])
}

/** Ends the session of a client, and checks that nothing of it remains. */
async function endSession(gateway: RunningGateway, client: McpClient): Promise<void> {
  await client.delete()
  await until(() => gateway.live.children.length === 0, 'the child to end')
  assert.equal(gateway.live.groups[0]!.open, 0)
}

faults('a child that floods its output is read at the speed of its client', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const meta = { _meta: { progressToken: 1 } }
  const answer = await client.call('pour', { count: 5_000, bytes: 1_000 }, meta)
  await answer.whole()
  assert.is(answer.texts.length, 5_001)
  await endSession(gateway, client)
  answer.raw.destroy()
})

faults('a child that floods its standard error still works', async () => {
  const words = ['-c', 'yes noise >&2 & exec "$0" "$@"', process.execPath, childFile('mcp-server')]
  const target = `{ name: one, stdio: { cmd: sh, args: ${JSON.stringify(words)} } }`
  const [gateway, client] = await begin(stage, { targets: [target] })
  for (const text of ['a', 'b', 'c']) assert.is(await client.textOf('echo', { text }), text)
  const lines = gateway.lines.filter(({ message }) => String(message).includes('noise')).length
  assert.ok(lines < 1_000, `${lines} lines`)
  await endSession(gateway, client)
})

faults(
  'a child that dies during a call fails it with its target name, and is restarted',
  async () => {
    const [gateway, client] = await begin(stage)
    const calls = [await client.call('slow'), await client.call('slow')]
    const pid = Number(await client.textOf('pid'))
    process.kill(pid, 'SIGKILL')
    for (const call of calls) assert.is(await errorOf(call), "target 'one' was killed by SIGKILL")
    assert.is(await client.textOf('echo', { text: 'a' }), 'a')
    assert.is(gateway.live.children.length, 1)
    await endSession(gateway, client)
    const outcomes = (await gateway.logged(7)).map(({ outcome }) => outcome)
    assert.equal(new Set(outcomes), new Set(['complete']))
  },
)

faults('a child that does not read gets a bounded number of bytes', async () => {
  const [gateway, client] = await begin(stage)
  const pid = Number(await client.textOf('pid'))
  process.kill(pid, 'SIGSTOP')
  const text = 'x'.repeat(1_000_000)
  const calls: Answer[] = []
  for (let left = 10; left > 0; left--) calls.push(await client.call('echo', { text }))
  const refused = (): Answer[] => calls.filter(({ isWhole }) => isWhole)
  await until(() => refused().length > 0, 'a call to be refused')
  assert.match(
    await errorOf(refused()[0]!),
    /^target 'one' does not read its stdin: \d+ bytes wait$/,
  )
  process.kill(pid, 'SIGKILL')
  // Later calls go to the restarted child.
  for (const call of calls) (await call.whole()).raw.destroy()
  await endSession(gateway, client)
  assert.not(isRunning(pid))
})

const RULES = { user: { requests_per_unit: 100, unit: 'DAY' } } as const
const DESCRIPTORS = 'descriptors: [{ entries: [{ key: user, value: \'"u"\' }], type: requests }]'

async function startLimited(fields: string): Promise<{ rls: RlsDouble; gateway: RunningGateway }> {
  const rls = await RlsDouble.start({ rules: RULES })
  stage.add({ close: () => rls.stop() })
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { again: true }])
  const limit = `remoteRateLimit: { host: "127.0.0.1:${rls.port}", domain: d, ${DESCRIPTORS}, ${fields} }`
  return { rls, gateway: await stage.gateway(routeTo(backend, limit)) }
}

for (const [mode, seen, logged] of [
  ['failClosed', [500, 'rate limit failed'], '500 complete'],
  ['failOpen', [200, 'ok'], '200 complete'],
] as const) {
  faults(`a rate limit service that is down, with ${mode}`, async () => {
    const { rls, gateway } = await startLimited(`failureMode: ${mode}, timeout: 5s`)
    rls.stop()
    const { status, body } = await ask(stage, gateway, 'http/1.1')
    assert.equal([status, body], seen)
    await assertNothingLeft(gateway, { idle: mode === 'failOpen' ? 1 : 0 })
    await assertLogged(gateway, logged)
  })

  faults(`a rate limit service that is slow and recovers, with ${mode}`, async () => {
    const { rls, gateway } = await startLimited(`failureMode: ${mode}, timeout: 100ms`)
    let release!: () => void
    rls.behavior.hold = new Promise((resolve) => (release = resolve))
    const { status, body } = await ask(stage, gateway, 'http/1.1')
    assert.equal([status, body], seen)
    await assertNothingLeft(gateway, { idle: mode === 'failOpen' ? 1 : 0 })
    await until(() => rls.cancelled === 1, 'the call to be cancelled')
    release()
    delete rls.behavior.hold
    await assertLogged(gateway, logged)
  })
}

faults('a client that disconnects during the call to the rate limit service', async () => {
  const { rls, gateway } = await startLimited('timeout: 5s')
  let release!: () => void
  rls.behavior.hold = new Promise((resolve) => (release = resolve))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await until(() => rls.requests.length === 1, 'the service to be asked')
  client.destroy()
  await assertNothingLeft(gateway)
  release()
  await assertLogged(gateway, '499 client_closed')
})

const signer = await Signer.make('ES256', 'one')

function shown(): { fields: Record<string, string> } {
  const exp = Math.floor(Date.now() / 1000) + 600
  const token = signer.token({ iss: 'https://idp.example', aud: 'a', exp })
  return { fields: { authorization: `Bearer ${token}` } }
}

async function startProtected(): Promise<{ keys: KeyServer; gateway: RunningGateway }> {
  const keys = stage.add(await KeyServer.start(signer))
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { again: true }])
  const jwt = `jwtAuth: { issuer: "https://idp.example", audiences: [a], jwks: { url: "${keys.url}" } }`
  return { keys, gateway: await stage.gateway(routeTo(backend, jwt)) }
}

faults('an identity provider that is down: no token is accepted', async () => {
  const { keys, gateway } = await startProtected()
  keys.status = 500
  const { status, body } = await ask(stage, gateway, 'http/1.1', shown())
  assert.equal(
    [status, body],
    [503, 'authentication failure: signing keys of the issuer are unavailable'],
  )
  await assertNothingLeft(gateway)
  await assertLogged(gateway, '503 complete')
})

faults('an identity provider that goes down later: tokens are still accepted', async () => {
  const { keys, gateway } = await startProtected()
  assert.is((await ask(stage, gateway, 'http/1.1', shown())).status, 200)
  await keys.close()
  assert.is((await ask(stage, gateway, 'http/1.1', shown())).status, 200)
  await assertNothingLeft(gateway, { idle: 1 })
  await assertLogged(gateway, '200 complete', '200 complete')
})

faults('an identity provider that is slow delays only requests that need its keys', async () => {
  const { keys, gateway } = await startProtected()
  keys.isHolding = true
  const gone = await stage.client(gateway)
  gone.send(
    `GET / HTTP/1.1\r\nhost: a\r\nauthorization: ${shown().fields['authorization']}\r\n\r\n`,
  )
  const waiting = ask(stage, gateway, 'http/1.1', shown())
  await until(() => gateway.live.requests.choose === 2, 'two to wait')
  await keys.untilAsked(1)
  gone.destroy()
  await assertLogged(gateway, '499 client_closed')
  // A malformed token is refused without keys.
  const none = { fields: { authorization: 'Bearer nonsense' } }
  assert.is((await ask(stage, gateway, 'http/1.1', none)).status, 401)
  keys.release()
  assert.is((await waiting).status, 200)
  await assertNothingLeft(gateway, { idle: 1 })
  await assertLogged(gateway, '499 client_closed', '401 complete', '200 complete')
  assert.is(keys.asked, 1)
})

faults(
  'an LLM provider that refuses connections costs no tokens, and the error has the format of the client',
  async () => {
    const port = await freePort()
    const gateway = await stage.gateway(aiRoute({ port }, { policies: tokens(1_000) }))
    const message = 'upstream call failed: connection refused'
    const chat = await post(gateway, chatAsking())
    assert.is(chat.status, 503)
    assert.equal(JSON.parse(chat.text), {
      error: { message, type: 'server_error', param: null, code: 'backend_connect' },
    })
    const messages = await post(gateway, chatAsking(), { path: '/v1/messages' })
    assert.equal(JSON.parse(messages.text), {
      type: 'error',
      error: { type: 'api_error', message },
    })
    assert.is(remainingTokens(gateway), 1_000)
    await assertNothingLeft(gateway)
    await assertLogged(gateway, '503 backend_reset', '503 backend_reset')
  },
)

faults('an LLM provider that is cut is charged for the relayed tokens', async () => {
  const event = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
  const chunk = `${event.length.toString(16)}\r\n${event}\r\n`
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked'
  const backend = await stage.backend([
    { wait: HEAD },
    { send: `${head}\r\n\r\n${chunk}${chunk}` },
    { hold: true },
    { reset: true },
  ])
  const gateway = await stage.gateway(aiRoute(backend, { policies: tokens(1_000) }))
  const body = chatAsking({ stream: true })
  const asked = ask(stage, gateway, 'http/1.1', { path: CHAT, body })
  await until(() => gateway.live.requests.relay === 1, 'the answer to begin')
  backend.release()
  const seen = await asked
  assert.equal([seen.status, seen.body, seen.end], [200, event + event, 'cut'])
  assert.is(remainingTokens(gateway), 1_000 - Math.ceil(body.length / 4) - 2)
  await assertNothingLeft(gateway)
  await assertLogged(gateway, '200 backend_reset')
})

faults('a remote MCP server that refuses connections gives a JSON-RPC error', async () => {
  const target = `{ name: far, mcp: { host: 127.0.0.1, port: ${await freePort()}, path: /mcp } }`
  const gateway = await stage.gateway(mcpText({ targets: [target] }))
  const answer = await new McpClient(stage, gateway).initialize()
  const { error, id } = await answer.only()
  assert.is(id, 0)
  assert.match(String((error as Json)['message']), /^target 'far' .*connection refused/)
  answer.raw.destroy()
  await assertNothingLeft(gateway)
})

faults.run()
