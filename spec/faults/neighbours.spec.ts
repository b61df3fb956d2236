// Those we work with fail: child processes, the service that counts, the provider of keys, and providers of models.

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
import { aiRoute, CHAT, chatAsking, left, post, tokens } from '../support/llm/asking.ts'
import { RlsDouble } from '../support/rls/double.ts'
import { Signer } from '../support/signer.ts'
import { HEAD, OK, ask, leaves, logs, until, leavesNoHandle } from './scene.ts'

const faults = suite('faults of neighbours')
const stage = new Stage()
leavesNoHandle(faults)
faults.after.each(() => stage.clear())

async function errorOf(answer: Answer): Promise<string> {
  await answer.whole()
  const message = answer.messages.at(-1) ?? (await answer.only())
  return String((message['error'] as Json)['message'])
}

/** Its session ends, and all that it had. */
async function dismissed(gateway: RunningGateway, client: McpClient): Promise<void> {
  await client.delete()
  await until(() => gateway.live.children.length === 0, 'the child to end')
  assert.equal(gateway.live.groups[0]!.open, 0)
}

faults('a child that floods its output is read as fast as its client reads', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const meta = { _meta: { progressToken: 1 } }
  const answer = await client.call('pour', { count: 5_000, bytes: 1_000 }, meta)
  await answer.whole()
  assert.is(answer.texts.length, 5_001)
  await dismissed(gateway, client)
  answer.raw.destroy()
})

faults('a child that floods its standard error works all the same', async () => {
  const words = ['-c', 'yes noise >&2 & exec "$0" "$@"', process.execPath, childFile('mcp-server')]
  const target = `{ name: one, stdio: { cmd: sh, args: ${JSON.stringify(words)} } }`
  const [gateway, client] = await begin(stage, { targets: [target] })
  for (const text of ['a', 'b', 'c']) assert.is(await client.textOf('echo', { text }), text)
  const lines = gateway.lines.filter(({ message }) => String(message).includes('noise')).length
  assert.ok(lines < 1_000, `${lines} lines`)
  await dismissed(gateway, client)
})

faults('a child that dies in a call fails it by name, and is started again', async () => {
  const [gateway, client] = await begin(stage)
  const calls = [await client.call('slow'), await client.call('slow')]
  const pid = Number(await client.textOf('pid'))
  process.kill(pid, 'SIGKILL')
  for (const call of calls) assert.is(await errorOf(call), "target 'one' was killed by SIGKILL")
  assert.is(await client.textOf('echo', { text: 'a' }), 'a')
  assert.is(gateway.live.children.length, 1)
  await dismissed(gateway, client)
  const outcomes = (await gateway.logged(7)).map(({ outcome }) => outcome)
  assert.equal(new Set(outcomes), new Set(['complete']))
})

faults('a child that reads nothing is sent no more than a bound', async () => {
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
  // Those that came late are for the one that was started again.
  for (const call of calls) (await call.whole()).raw.destroy()
  await dismissed(gateway, client)
  assert.not(isRunning(pid))
})

const RULES = { user: { requests_per_unit: 100, unit: 'DAY' } } as const
const DESCRIPTORS = 'descriptors: [{ entries: [{ key: user, value: \'"u"\' }], type: requests }]'

async function counted(fields: string): Promise<{ rls: RlsDouble; gateway: RunningGateway }> {
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
  faults(`a service that counts and is down, with ${mode}`, async () => {
    const { rls, gateway } = await counted(`failureMode: ${mode}, timeout: 5s`)
    rls.stop()
    const { status, body } = await ask(stage, gateway, 'http/1.1')
    assert.equal([status, body], seen)
    await leaves(gateway, { idle: mode === 'failOpen' ? 1 : 0 })
    await logs(gateway, logged)
  })

  faults(`a service that counts and is slow, with ${mode}, and is quick again`, async () => {
    const { rls, gateway } = await counted(`failureMode: ${mode}, timeout: 100ms`)
    let release!: () => void
    rls.manners.hold = new Promise((resolve) => (release = resolve))
    const { status, body } = await ask(stage, gateway, 'http/1.1')
    assert.equal([status, body], seen)
    await leaves(gateway, { idle: mode === 'failOpen' ? 1 : 0 })
    await until(() => rls.cancelled === 1, 'the service to be told')
    release()
    delete rls.manners.hold
    await logs(gateway, logged)
  })
}

faults('a client that leaves while it is counted', async () => {
  const { rls, gateway } = await counted('timeout: 5s')
  let release!: () => void
  rls.manners.hold = new Promise((resolve) => (release = resolve))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await until(() => rls.requests.length === 1, 'the service to be asked')
  client.destroy()
  await leaves(gateway)
  release()
  await logs(gateway, '499 client_closed')
})

const signer = await Signer.make('ES256', 'one')

function shown(): { fields: Record<string, string> } {
  const exp = Math.floor(Date.now() / 1000) + 600
  const token = signer.token({ iss: 'https://idp.example', aud: 'a', exp })
  return { fields: { authorization: `Bearer ${token}` } }
}

async function guarded(): Promise<{ keys: KeyServer; gateway: RunningGateway }> {
  const keys = stage.add(await KeyServer.start(signer))
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { again: true }])
  const jwt = `jwtAuth: { issuer: "https://idp.example", audiences: [a], jwks: { url: "${keys.url}" } }`
  return { keys, gateway: await stage.gateway(routeTo(backend, jwt)) }
}

faults('a provider of keys that is down lets nobody in', async () => {
  const { keys, gateway } = await guarded()
  keys.status = 500
  const { status, body } = await ask(stage, gateway, 'http/1.1', shown())
  assert.equal([status, body], [503, 'authentication failure: the keys cannot be had now'])
  await leaves(gateway)
  await logs(gateway, '503 complete')
})

faults('a provider of keys that goes down later keeps nobody out', async () => {
  const { keys, gateway } = await guarded()
  assert.is((await ask(stage, gateway, 'http/1.1', shown())).status, 200)
  await keys.close()
  assert.is((await ask(stage, gateway, 'http/1.1', shown())).status, 200)
  await leaves(gateway, { idle: 1 })
  await logs(gateway, '200 complete', '200 complete')
})

faults('a provider of keys that is slow holds up those who need them only', async () => {
  const { keys, gateway } = await guarded()
  keys.isHolding = true
  const gone = await stage.client(gateway)
  gone.send(
    `GET / HTTP/1.1\r\nhost: a\r\nauthorization: ${shown().fields['authorization']}\r\n\r\n`,
  )
  const waiting = ask(stage, gateway, 'http/1.1', shown())
  await until(() => gateway.live.requests.choose === 2, 'two to wait')
  await keys.untilAsked(1)
  gone.destroy()
  await logs(gateway, '499 client_closed')
  // A token that is none needs no keys.
  const none = { fields: { authorization: 'Bearer nonsense' } }
  assert.is((await ask(stage, gateway, 'http/1.1', none)).status, 401)
  keys.release()
  assert.is((await waiting).status, 200)
  await leaves(gateway, { idle: 1 })
  await logs(gateway, '499 client_closed', '401 complete', '200 complete')
  assert.is(keys.asked, 1)
})

faults('a provider of models that is not there costs nothing, and is told by dialect', async () => {
  const port = await freePort()
  const gateway = await stage.gateway(aiRoute({ port }, { policies: tokens(1_000) }))
  const message = 'upstream call failed: connection refused'
  const chat = await post(gateway, chatAsking())
  assert.is(chat.status, 503)
  assert.equal(JSON.parse(chat.text), {
    error: { message, type: 'server_error', param: null, code: 'backend_connect' },
  })
  const messages = await post(gateway, chatAsking(), { path: '/v1/messages' })
  assert.equal(JSON.parse(messages.text), { type: 'error', error: { type: 'api_error', message } })
  assert.is(left(gateway), 1_000)
  await leaves(gateway)
  await logs(gateway, '503 backend_reset', '503 backend_reset')
})

faults('a provider of models that is cut is charged for what has passed', async () => {
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
  assert.is(left(gateway), 1_000 - Math.ceil(body.length / 4) - 2)
  await leaves(gateway)
  await logs(gateway, '200 backend_reset')
})

faults('a remote MCP server that is not there is told in JSON-RPC', async () => {
  const target = `{ name: far, mcp: { host: 127.0.0.1, port: ${await freePort()}, path: /mcp } }`
  const gateway = await stage.gateway(mcpText({ targets: [target] }))
  const answer = await new McpClient(stage, gateway).initialize()
  const { error, id } = await answer.only()
  assert.is(id, 0)
  assert.match(String((error as Json)['message']), /^target 'far' .*connection refused/)
  answer.raw.destroy()
  await leaves(gateway)
})

faults.run()
