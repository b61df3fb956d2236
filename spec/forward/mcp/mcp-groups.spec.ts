// The sessions of all backends: reload, shutdown, and the release of all resources.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import type { Line } from '../../support/gateway.ts'
import { Reloading } from '../../support/reloading.ts'
import {
  beginOpenly,
  groupOf,
  McpClient,
  mcpText,
  puppet,
  server,
  sessionsOf,
} from './mcp-client.ts'
import type { Answer } from './mcp-client.ts'
import { isRunning, until } from './stdio/owner.ts'

const groups = suite('mcp/groups')
const stage = new Stage()
groups.after.each(() => stage.clear())

function told({ lines }: { lines: Line[] }, message: string): Line[] {
  return lines.filter((line) => line.message === message)
}

function pidsOf(gateway: { lines: Line[] }): number[] {
  return told(gateway, 'started child').map(({ pid }) => Number(pid))
}

groups('a reload that does not change the backend keeps its sessions', async () => {
  const [gateway, client] = await beginOpenly(stage)
  const stream = await client.listen()
  const call = await client.call('slow', { ms: 500 })
  const pid = await client.textOf('pid')
  await gateway.change(`${mcpText()}# another text\n`)
  await gateway.change(mcpText({ policies: 'timeout: { requestTimeout: 10s }' }))
  await call.whole()
  assert.is(await client.textOf('pid'), pid)
  assert.not.ok(stream.isWhole)
})

groups('a reload that changes the backend ends each session after its last call', async () => {
  const [gateway, busy] = await beginOpenly(stage, { targets: [puppet('one')] })
  const idle = await McpClient.open(stage, gateway)
  const stream = await idle.listen()
  const call = await busy.call('say')
  await busy.textOf('line')
  await gateway.change(mcpText({ targets: [puppet('one', '--greeting', 'answer')] }))
  await stream.whole()
  for (const { session } of [busy, idle]) {
    const after = new McpClient(stage, gateway)
    after.session = session
    assert.is((await (await after.call('line')).whole()).status, 404)
  }
  assert.not.ok(call.isWhole)
  const [session] = told(gateway, 'session ended')
  assert.is(session?.['reason'], 'the backend was removed or changed')
  // Only its own call still reaches the working child.
  const [pid] = pidsOf(gateway)
  assert.ok(isRunning(pid!))
  call.raw.destroy()
  await until(() => pidsOf(gateway).every((one) => !isRunning(one)), 'both children to end')
  await McpClient.open(stage, gateway)
})

groups('an open call is answered after a reload', async () => {
  const [gateway, client] = await beginOpenly(stage)
  const call = await client.call('slow', { ms: 400 })
  await call.first(1)
  await gateway.change(mcpText({ targets: [server('two')] }))
  const { content } = (await call.first(2))[1]!['result'] as { content: { text: string }[] }
  assert.is(content[0]?.text, 'waited 400 ms')
  await until(() => told(gateway, 'session ended').length === 1, 'the end of its session')
  await until(() => !isRunning(pidsOf(gateway)[0]!), 'its child to end')
})

groups('a session that starts with a replaced configuration ends at once', async () => {
  const [gateway] = await beginOpenly(stage)
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a' } },
  })
  const late = await new McpClient(stage, gateway).send(
    'POST',
    `accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`,
  )
  late.raw.send(body.slice(0, 10))
  await until(() => sessionsOf(gateway).length === 1, 'one session')
  await gateway.change(mcpText({ targets: [server('two')] }))
  late.raw.send(body.slice(10))
  assert.is((await late.whole()).status, 200)
  await until(() => told(gateway, 'session ended').length === 2, 'the end of both')
  await until(() => pidsOf(gateway).every((pid) => !isRunning(pid)), 'their children to end')
})

groups('a refused reload keeps the sessions', async () => {
  const [gateway, client] = await beginOpenly(stage)
  await gateway.refusal(mcpText({ targets: ['{ name: one }'] }))
  assert.is(await client.textOf('echo', { text: 'a' }), 'a')
})

groups('shutdown ends streams at once, waits for calls, and leaves no child', async () => {
  const gateway = await Reloading.start(mcpText())
  const client = await McpClient.open(stage, gateway)
  const stream = await client.listen()
  const call = await client.call('slow', { ms: 300 })
  await call.first(1)
  const stopping = gateway.close()
  await stream.whole()
  assert.is((await call.first(2)).length, 2)
  await call.whole()
  await deadline(stopping, 20_000, 'the gateway to stop')
  for (const pid of pidsOf(gateway)) assert.not(isRunning(pid))
  const [ended] = told(gateway, 'session ended')
  assert.is(ended?.['reason'], 'the gateway is stopping')
})

groups('calls that do not end in time are cut', async () => {
  const gateway = await Reloading.start(mcpText({ config: 'connectionTerminationDeadline: 300ms' }))
  const client = await McpClient.open(stage, gateway)
  const call = await client.call('slow')
  await call.first(1)
  const waiting = await client.call('slow')
  await waiting.first(1)
  await gateway.close()
  for (const { raw } of [call, waiting]) await raw.untilClosed()
  assert.not.ok(call.isWhole)
  for (const pid of pidsOf(gateway)) assert.not(isRunning(pid))
  const cut = told(gateway, 'request').filter(({ outcome }) => outcome === 'shutdown')
  assert.is(cut.length, 2)
})

/** A cheap child that answers only `initialize`, which is always the first request. */
const SHELL = `{ name: sh, stdio: { cmd: sh, args: [-c, 'read line; echo "$0"; exec cat >/dev/null', '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}'] } }`

const BATCH = 100
const BATCHES = 5

/** Ways to abandon a session, each in another phase. */
const LEAVES: ((client: McpClient, answer: Answer) => Promise<unknown>)[] = [
  // During initialize.
  async (_client, { raw }) => raw.destroy(),
  async (client) => (await begun(client)).delete(),
  async (client) => (await (await begun(client)).listen()).raw.destroy(),
  async (client) => (await (await begun(client)).ask('ping')).raw.destroy(),
  // Without another message.
  async (client) => begun(client),
]

/** After its `initialize` was answered. */
async function begun(client: McpClient): Promise<McpClient> {
  const answer = await (await client.initialize()).whole()
  client.session = answer.header('mcp-session-id') ?? ''
  return client
}

groups('500 abandoned sessions leave no resources', async () => {
  const before = handles()
  const gateway = stage.add(
    await Reloading.start(
      mcpText({ targets: [SHELL], limits: 'sessionTtl: 300ms, goneTtl: 200ms' }),
    ),
  )
  const group = groupOf(gateway)
  const pids: number[] = []
  const marks: number[] = []
  for (let i = 0; i < BATCHES; i++) {
    const few = new Stage()
    const opening = Array.from({ length: BATCH }, async (_, n) => {
      const client = new McpClient(few, gateway)
      const leave = LEAVES[n % LEAVES.length]!
      await leave(
        client,
        n % LEAVES.length === 0 ? await client.initialize() : (undefined as never),
      )
    })
    await deadline(Promise.all(opening), 20_000, 'a batch of sessions')
    await few.clear()
    const isOver = (): boolean => [...group.sessions].length === 0
    await until(() => isOver() && !pidsOf(gateway).some(isRunning), 'all of a batch to be gone')
    pids.push(...pidsOf(gateway))
    gateway.lines.length = 0
    marks.push(heapAfterCollection())
  }
  assert.ok(pids.length >= BATCH * BATCHES * 0.9, `${pids.length} children`)
  for (const pid of pids) assert.not(isRunning(pid))
  const growth = marks.at(-1)! - marks[1]!
  assert.ok(growth < 1_500_000, `${growth} bytes more after ${marks.join(', ')}`)
  await until(() => handles().length <= before.length, 'every pipe and socket to be closed')
})

/** Pipes, sockets and processes; the first ones are our own output. */
function handles(): string[] {
  const open = process.getActiveResourcesInfo()
  return open.filter((name) => /^(?:Process|Pipe|TCPSocket)Wrap$/.test(name))
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

groups.run()
