// `statefulMode: stateless`: every request has its own session and children, which end with its answer.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RESUME_GRACE_MS } from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import type { RunningGateway } from '../../../support/gateway.ts'
import { McpClient, mcpText, puppet, server } from '../mcp-client.ts'
import type { Json, Setting } from '../mcp-client.ts'
import { isRunning, until } from '../stdio/owner.ts'

const stateless = suite('mcp/endpoint/stateless')
const stage = new Stage()
stateless.after.each(() => stage.clear())

async function begin(setting: Setting = {}, fields = ''): Promise<[RunningGateway, McpClient]> {
  const gateway = await stage.gateway(mcpText({ ...setting, more: 'statefulMode: stateless' }))
  return [gateway, new McpClient(stage, gateway, { fields })]
}

function pidsOf({ lines }: RunningGateway): number[] {
  return lines.flatMap(({ message, pid }) => (message === 'started child' ? [Number(pid)] : []))
}

async function noChildLeft(gateway: RunningGateway): Promise<void> {
  await until(() => !pidsOf(gateway).some(isRunning), 'every child to end')
}

stateless('each request is answered without a session, by a child that ends with it', async () => {
  const [gateway, client] = await begin()
  const welcome = await (await client.initialize()).whole()
  assert.is(welcome.header('mcp-session-id'), undefined)
  assert.is(((await welcome.only())['result'] as Json)['protocolVersion'], '2025-06-18')
  assert.is(await client.textOf('echo', { text: 'x' }), 'x')
  assert.is(await client.textOf('heard'), '[{"method":"notifications/initialized","params":{}}]')
  const pids = [await client.textOf('pid'), await client.textOf('pid')]
  assert.is(new Set(pids).size, 2)
  await noChildLeft(gateway)
  assert.is(pidsOf(gateway).length, 5)
})

stateless('targets are initialized with the version of the header', async () => {
  const [, client] = await begin({}, 'mcp-protocol-version: 2025-03-26\r\n')
  const call = (id: number): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
  const batch = await (await client.post(`[${call(1)},${call(2)}]`)).whole()
  assert.is(batch.messages.length, 2)
  const unknown = new McpClient(stage, client, { fields: 'mcp-protocol-version: 1999\r\n' })
  assert.is((await (await unknown.ask('ping')).whole()).status, 400)
})

stateless('only the target of the request is started', async () => {
  const [gateway, client] = await begin({ targets: [server('a'), server('b')] })
  assert.is(await client.textOf('b_echo', { text: 'x' }), 'x')
  const started = gateway.lines.filter(({ message }) => message === 'started child')
  assert.equal(
    started.map(({ target }) => target),
    ['b'],
  )
  const unknown = await (await client.call('c_echo')).whole()
  assert.is(unknown.status, 400)
  const { result } = await (await client.ask('tools/list')).only()
  assert.is(((result as Json)['tools'] as Json[]).length % 2, 0)
  await noChildLeft(gateway)
})

stateless('GET and DELETE are refused, and notifications are dropped', async () => {
  const [gateway, client] = await begin()
  assert.is((await client.listen()).status, 405)
  assert.is((await client.delete()).status, 405)
  await client.notify('notifications/initialized')
  assert.equal(pidsOf(gateway), [])
})

stateless('a client that disconnects leaves no child, also after an event', async () => {
  const [gateway, client] = await begin({ targets: [puppet('one')] })
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
  const streaming = await client.call('say', { text: note })
  await streaming.first(1)
  const waiting = await client.call('say')
  await until(() => pidsOf(gateway).length === 2, 'both children')
  const since = performance.now()
  streaming.raw.destroy()
  waiting.raw.destroy()
  await noChildLeft(gateway)
  // Without a session, a stream cannot be resumed.
  assert.ok(performance.now() - since < RESUME_GRACE_MS)
})

stateless('a child that cannot be started is reported in the answer', async () => {
  const [, client] = await begin({ targets: ['{ name: one, stdio: { cmd: /nowhere/at-all } }'] })
  const { error } = (await (await client.call('echo')).only()) as { error: Json }
  assert.match(String(error['message']), "target 'one' could not be started")
})

stateless.run()
