// The bounds of the MCP backend, and the refusals when they are reached.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_BATCH,
  MAX_CALL_BYTES,
  MAX_SESSION_CALLS,
} from '../../../lib/forward/mcp/mcp-bounds.ts'
import { RpcMessage } from '../../../lib/forward/mcp/json-rpc.ts'
import type { ClientCall } from '../../../lib/forward/mcp/session/client-call.ts'
import { OpenClientCalls } from '../../../lib/forward/mcp/session/session.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import type { RawClient } from '../../support/raw-client.ts'
import { begin, beginOpenly, groupOf, McpClient, mcpText, puppet, server } from './mcp-client.ts'
import type { Answer } from './mcp-client.ts'
import { until } from './stdio/owner.ts'

const bounds = suite('mcp/bounds')
const stage = new Stage()
bounds.after.each(() => stage.clear())

/** Status, code and message of a refusal. */
async function refusal(answer: Answer): Promise<[number, unknown, string]> {
  const { error } = (await answer.only()) as { error: { code: number; message: string } }
  assert.is(answer.header('content-type'), 'application/json')
  return [answer.status, error.code, error.message]
}

function say(id: number | string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"say"}}`
}

const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},' +
  '"clientInfo":{"name":"a","version":"1"}}}'

async function postFrom(
  { port }: RunningGateway,
  localAddress: string,
  body: string,
  fields = '',
): Promise<RawClient> {
  const client = await stage.client({ port, host: '127.0.0.1', localAddress })
  client.send(
    'POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n' +
      `${fields}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return client
}

const initializeFrom = async (gateway: RunningGateway, address: string): Promise<RawClient> =>
  postFrom(gateway, address, INITIALIZE)

bounds('calls above the bound are refused, and the others keep waiting', async () => {
  const [gateway, client] = await begin(
    stage,
    { targets: [puppet('one')] },
    { version: '2025-03-26' },
  )
  const waiting: Answer[] = []
  for (let from = 0; from < MAX_SESSION_CALLS; from += MAX_BATCH) {
    const count = Math.min(MAX_BATCH, MAX_SESSION_CALLS - from)
    const batch = Array.from({ length: count }, (_, at) => say(from + at))
    waiting.push(await client.post(`[${batch.join(',')}]`))
  }
  // The last call has arrived when the notification after it was accepted.
  await client.notify('notifications/roots/list_changed')
  const more = await client.post(say('"more"'))
  assert.equal(await refusal(more), [
    503,
    -32000,
    `more than ${MAX_SESSION_CALLS} calls wait for an answer`,
  ])
  assert.is((await more.only())['id'], 'more')
  const { series } = gateway.measures.find(({ name }) => name === 'refused_total')!
  const counted = [...series].filter(([, count]) => count !== 0)
  assert.equal(counted, [[{ limit: 'sessionCalls' }, 1]])
  await client.notify('notifications/cancelled', { requestId: 0 })
  assert.is((await client.textOf('line')).length > 0, true)
  for (const answer of waiting) assert.is(answer.status, 0)
})

bounds('a batch of too many messages, or of none, is refused', async () => {
  const [, client] = await begin(stage, {}, { version: '2025-03-26' })
  for (const count of [0, MAX_BATCH + 1]) {
    const batch = Array.from({ length: count }, () => say(1)).join(',')
    const [status, code] = await refusal(await client.post(`[${batch}]`))
    assert.equal([status, code], [400, -32600])
  }
})

bounds('a session above the bound is refused until another ends', async () => {
  const [gateway, one] = await begin(stage, { limits: 'maxSessions: 2' })
  await McpClient.open(stage, gateway)
  const third = await new McpClient(stage, gateway).initialize()
  const message = '2 sessions are open (config.mcp.maxSessions): try again later'
  assert.equal(await refusal(third), [503, -32000, message])
  assert.is((await third.only())['id'], 0)
  const old = new McpClient(stage, gateway, { path: '/sse' })
  const stream = await old.send('GET', 'accept: text/event-stream\r\n')
  assert.equal(await refusal(stream), [503, -32000, message])
  await one.delete()
  await McpClient.open(stage, gateway)
})

bounds('sessions per client are bounded, and ended sessions are released', async () => {
  const [gateway, one] = await begin(stage, { limits: 'maxSessionsPerClient: 1' })
  const second = await new McpClient(stage, gateway).initialize()
  const bound = '(config.mcp.maxSessionsPerClient): try again later'
  assert.equal(await refusal(second), [503, -32000, `1 sessions are open for one client ${bound}`])
  await one.delete()
  await McpClient.open(stage, gateway)
})

bounds('a session that needs too many children is refused while all others are busy', async () => {
  const targets = [server('one'), server('two')]
  const [gateway, client] = await begin(stage, { targets, limits: 'maxChildren: 3' })
  await client.call('one_slow', { ms: 60_000 })
  await client.notify('notifications/roots/list_changed')
  const second = await new McpClient(stage, gateway).initialize()
  const message = '3 child processes are running (config.mcp.maxChildren): try again later'
  assert.equal(await refusal(second), [503, -32000, message])
  await client.delete()
  const exits = (): number => gateway.lines.filter((line) => line.message === 'child exited').length
  await until(() => exits() === 2, 'both children to end')
  await McpClient.open(stage, gateway)
})

bounds(
  'children per client are bounded over its sessions; another client has its own share',
  async () => {
    const targets = [server('one'), server('two')]
    const [gateway, client] = await begin(stage, { targets, limits: 'maxChildrenPerClient: 3' })
    await client.call('one_slow', { ms: 60_000 })
    await client.notify('notifications/roots/list_changed')
    const second = await new McpClient(stage, gateway).initialize()
    const message =
      '3 child processes are running for one client (config.mcp.maxChildrenPerClient): try again later'
    assert.equal(await refusal(second), [503, -32000, message])
    const other = await initializeFrom(gateway, '127.0.0.2')
    await other.until(/"serverInfo"/)
    await client.delete()
    await McpClient.open(stage, gateway)
    const refused = gateway.measures.find(({ name }) => name === 'refused_total')
    const counted = [...refused!.series].find(([{ limit }]) => limit === 'maxChildrenPerClient')
    assert.is(counted?.[1], 1)
  },
)

/** The reasons of sessions that were evicted, in order. */
function evictionsIn({ lines }: RunningGateway): string[] {
  return lines
    .filter(
      ({ message, reason }) => message === 'session ended' && String(reason).startsWith('evicted'),
    )
    .map(({ reason }) => String(reason).replace(/\d+ s/, 'N s'))
}

async function isAlive(client: McpClient): Promise<boolean> {
  return (await (await client.ask('ping')).whole()).status === 200
}

bounds('at maxChildren the session that is idle longest ends for a new one', async () => {
  const [gateway, one] = await begin(stage, { limits: 'maxChildren: 3, maxChildrenPerClient: 3' })
  const [two, three] = [await McpClient.open(stage, gateway), await McpClient.open(stage, gateway)]
  assert.ok(await isAlive(one))
  const four = await McpClient.open(stage, gateway)
  assert.equal(
    [await isAlive(two), await isAlive(one), await isAlive(three), await isAlive(four)],
    [false, true, true, true],
  )
  assert.equal(evictionsIn(gateway), [
    'evicted after N s without a request, because of config.mcp.maxChildrenPerClient',
  ])
})

bounds('sessions without a stream end before those whose client still listens', async () => {
  const [gateway, one] = await begin(stage, { limits: 'maxChildren: 2, maxChildrenPerClient: 2' })
  await (await one.listen()).head()
  const two = await McpClient.open(stage, gateway)
  assert.ok(await isAlive(two))
  const three = await McpClient.open(stage, gateway)
  assert.equal([await isAlive(one), await isAlive(two)], [true, false])
  await (await three.listen()).head()
  const four = await McpClient.open(stage, gateway)
  assert.equal([await isAlive(one), await isAlive(three), await isAlive(four)], [false, true, true])
})

bounds(
  'abandoned sessions of one client do not lock out another, nor take its session',
  async () => {
    const [gateway] = await begin(stage, { limits: 'maxChildren: 4, maxChildrenPerClient: 4' })
    for (let i = 0; i < 3; i++) await McpClient.open(stage, gateway)
    const other = await initializeFrom(gateway, '127.0.0.2')
    await other.until(/"serverInfo"/)
    // The other client's session is now the oldest one that may end, but its client holds less.
    for (let i = 0; i < 6; i++) await McpClient.open(stage, gateway)
    const id = /mcp-session-id: (\S+)/.exec(other.text)![1]!
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const again = await postFrom(gateway, '127.0.0.2', ping, `mcp-session-id: ${id}\r\n`)
    await again.until(/"result"/)
    assert.is(evictionsIn(gateway).length, 7)
  },
)

bounds('one client holds at most half of the children by default', async () => {
  const [gateway] = await begin(stage, { limits: 'maxChildren: 4' })
  for (let i = 0; i < 2; i++) await McpClient.open(stage, gateway)
  assert.equal(evictionsIn(gateway), [
    'evicted after N s without a request, because of config.mcp.maxChildrenPerClient',
  ])
})

bounds('no session ends if that does not free enough children', async () => {
  const targets = [server('one'), server('two')]
  const limits = 'maxChildren: 1'
  const gateway = await stage.gateway(mcpText({ targets, limits }))
  const answer = await new McpClient(stage, gateway).initialize()
  assert.is((await answer.whole()).status, 503)
  assert.equal(evictionsIn(gateway), [])
})

bounds('a request body above the bound is refused, with or without content-length', async () => {
  const [, client] = await begin(stage, { limits: 'maxRequestBytes: 1024' })
  const body = say(`"${'x'.repeat(1000)}"`)
  const sized = await client.post(body)
  const bound = 'is too large: the limit is 1024 bytes (config.mcp.maxRequestBytes)'
  assert.equal(await refusal(sized), [
    413,
    -32600,
    `message of ${body.length} bytes or more ${bound}`,
  ])
  const head = 'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n'
  const chunked = await client.send('POST', `${head}transfer-encoding: chunked\r\n`)
  const chunk = `258\r\n${' '.repeat(600)}\r\n`
  chunked.raw.send(chunk)
  chunked.raw.send(chunk)
  const [status, , message] = await refusal(chunked)
  assert.is(status, 413)
  assert.match(message, `1200 bytes or more ${bound}`)
  const fits = await client.post(say('1').padEnd(1024))
  assert.is((await fits.whole()).status, 200)
})

bounds('bodies that are read at once have a common bound, and release their share', async () => {
  const [gateway, client] = await beginOpenly(stage)
  const { bodies } = groupOf(gateway)
  const all = bodies.remaining
  const head = 'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n'
  const body = say(1).padEnd(5_000)
  const half = await client.send('POST', `${head}content-length: 5000\r\n`, body.slice(0, 3_000))
  await until(() => bodies.remaining === all - 3_000, 'half of it')
  bodies.tryReserve(bodies.remaining - 1_000)
  const other = await client.post(body)
  const bound = 'at most 268435456 bytes (config.mcp.maxReadTogether)'
  const message = `too many request bytes are being read, ${bound}: try again later`
  assert.equal(await refusal(other), [503, -32000, message])
  bodies.release(all - 3_000 - 1_000)
  assert.is(bodies.remaining, all - 3_000)
  half.raw.send(body.slice(3_000))
  assert.is((await half.whole()).status, 200)
  assert.is(bodies.remaining, all)
  const cut = await client.send('POST', `${head}content-length: 5000\r\n`, body.slice(0, 3_000))
  await until(() => bodies.remaining < all, 'half of it')
  cut.raw.destroy()
  await until(() => bodies.remaining === all, 'its share')
})

bounds('calls that hold too many bytes together are refused', () => {
  const calls = new OpenClientCalls()
  const large = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"x":"${'x'.repeat(4_000_000)}"}}`
  const message = RpcMessage.parse(Buffer.from(large)) as RpcMessage
  const open = Array.from({ length: 16 }, () => ({ message }) as ClientCall)
  for (const call of open) {
    assert.is(calls.checkRoomFor([message]), null)
    calls.add(call)
  }
  const bound = `calls of more than ${MAX_CALL_BYTES} bytes wait for an answer`
  assert.equal(calls.checkRoomFor([message]), { code: -32000, message: bound })
  calls.delete(open[0]!)
  calls.delete(open[0]!)
  assert.is(calls.checkRoomFor([message]), null)
  assert.is(calls.checkRoomFor([message, message])?.message, bound)
})

bounds(
  'a message of a child above the bound ends the child, and the error names the bound',
  async () => {
    const [, client] = await begin(stage, { limits: 'maxMessageBytes: 5000' })
    const pid = await client.textOf('pid')
    const fits = await (await client.call('big', { bytes: 4_800 })).only()
    assert.ok('result' in fits)
    const answer = await client.call('big', { bytes: 5_000 })
    const { error } = (await answer.only()) as { error: { message: string; data: unknown } }
    assert.is(
      error.message,
      "target 'one' sent a message above 5000 bytes (config.mcp.maxMessageBytes)",
    )
    assert.equal(error.data, { target: 'one' })
    assert.is.not(await client.textOf('pid'), pid)
  },
)

bounds('a start that takes too long fails the session, and leaves no child', async () => {
  const gateway = await stage.gateway(
    mcpText({ targets: [puppet('one', '--greeting', 'never')], limits: 'startTimeout: 300ms' }),
  )
  const answer = await new McpClient(stage, gateway).initialize()
  const message = "target 'one' did not answer initialize within 300 ms (config.mcp.startTimeout)"
  assert.equal(await refusal(answer), [500, -32603, message])
  assert.is(answer.header('mcp-session-id'), undefined)
  await until(() => gateway.lines.some((line) => line.message === 'child exited'), 'its end')
})

bounds.run()
