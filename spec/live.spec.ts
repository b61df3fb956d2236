// The live snapshot of a gateway: its connections and requests, what they wait for, and that none remain at the end.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { describeMemory } from '../lib/admin/admin-endpoints.ts'
import { describeTasks } from '../lib/admin/debug-tasks.ts'
import { MAX_LISTED_ENTRIES } from '../lib/core/runtime-views.ts'
import type { ConnectionView, ExchangeView, LiveSnapshot } from '../lib/core/runtime-views.ts'
import { begin, server } from './forward/mcp/mcp-client.ts'
import { until } from './forward/mcp/stdio/owner.ts'
import { routeTo, Stage } from './support/gateway.ts'
import type { RunningGateway } from './support/gateway.ts'
import { Http2Client } from './support/http2-client.ts'

const live = suite('live')
const stage = new Stage()
live.after.each(() => stage.clear())

const REQUEST = 'GET /a/b?token=planted HTTP/1.1\r\nhost: a\r\n\r\n'
const HEAD = 'HTTP/1.1 200 OK\r\n'

function connectionsOf(gateway: RunningGateway): readonly ConnectionView[] {
  return gateway.live.listeners[0]!.connections.shown
}

function exchangesOf(gateway: RunningGateway): readonly ExchangeView[] {
  return connectionsOf(gateway).flatMap(({ exchanges }) => exchanges.shown)
}

live('shows a request that waits: its backend, its start and its client', async () => {
  const backend = await stage.backend([{ hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(REQUEST)
  await backend.until((text) => text.includes('\r\n\r\n'))
  const [connection] = connectionsOf(gateway)
  assert.is(connection?.protocol, 'http/1.1')
  assert.match(connection?.peer ?? '', /^127\.0\.0\.1:\d+$/)
  assert.is(connection?.bytesIn, REQUEST.length)
  assert.is(connection?.bytesOut, 0)
  const [{ age, ...exchange }] = exchangesOf(gateway) as [ExchangeView]
  assert.ok(age >= 0 && age < 60_000)
  assert.equal(exchange, {
    phase: 'forward',
    method: 'GET',
    path: '/a/b',
    listener: 'gateway/default',
    route: 'gateway/default/default/all',
    endpoint: `127.0.0.1:${backend.port}`,
    status: 0,
    bytesOut: 0,
    paused: [],
  })
  assert.is(gateway.live.requests.forward, 1)
  const origin = `127.0.0.1:${backend.port}`
  assert.equal(gateway.live.pools, [{ origin, open: 1, idle: 0, sessions: 0, waiting: 0 }])
})

live('contains no query, header or body of a request', async () => {
  const backend = await stage.backend([{ hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(
    'POST /a?key=planted HTTP/1.1\r\nhost: a\r\nauthorization: Bearer planted\r\ncontent-length: 7\r\n\r\nplanted',
  )
  await backend.until((text) => text.endsWith('planted'))
  assert.not.match(JSON.stringify(describeTasks(gateway.live)), 'planted')
  assert.not.match(JSON.stringify(describeMemory(gateway.live)), 'planted')
})

live('counts an open event stream with its bytes', async () => {
  const event = 'data: 1\n\n'
  const stream = `${HEAD}content-type: text/event-stream\r\ncontent-length: 100\r\n\r\n${event}`
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { send: stream }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(REQUEST)
  await client.until(/data: 1/)
  const [exchange] = exchangesOf(gateway)
  assert.is(exchange?.phase, 'relay')
  assert.is(exchange?.status, 200)
  assert.is(exchange?.bytesOut, event.length)
  assert.is(gateway.live.streams, 1)
  client.destroy()
  await gateway.logged(1)
  assert.is(gateway.live.streams, 0)
})

live(
  'shows requests as paused whose client does not read, or whose backend does not read',
  async () => {
    const big = 64 * 1024 * 1024
    const backend = await stage.backend([
      { wait: /\r\n\r\n/ },
      { send: `${HEAD}content-length: ${big}\r\n\r\n` },
      { send: Buffer.alloc(big) },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.socket.pause()
    client.send(REQUEST)
    await until(
      () => exchangesOf(gateway)[0]?.paused.includes('answer') === true,
      'a paused answer',
    )
    const stuck = await stage.backend([{ hold: true }])
    const second = await stage.gateway(routeTo(stuck))
    const sender = await stage.client(second)
    sender.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${big}\r\n\r\n`)
    await stuck.until((text) => text.includes('\r\n\r\n'))
    stuck.connections[0]!.socket.pause()
    sender.send(Buffer.alloc(big))
    await until(
      () => exchangesOf(second)[0]?.paused.includes('request') === true,
      'a paused request',
    )
  },
)

live('shows an HTTP/2 connection with one request per stream and its bytes', async () => {
  const backend = await stage.backend([{ hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  for (const path of ['/one', '/two']) client.request({ ':path': path })
  await until(() => exchangesOf(gateway).length === 2, 'two requests')
  const [connection] = connectionsOf(gateway)
  assert.is(connection?.protocol, 'h2')
  assert.ok(connection!.bytesIn > 24)
  assert.ok(connection!.bytesOut > 0)
  assert.equal(
    exchangesOf(gateway)
      .map(({ path }) => path)
      .toSorted(),
    ['/one', '/two'],
  )
  assert.is(gateway.live.listeners[0]?.accepted, 1)
})

live('counts closed connections, and does not show them', async () => {
  const backend = await stage.backend([
    { wait: /\r\n\r\n/ },
    { send: `${HEAD}content-length: 2\r\n\r\nhi` },
    { again: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(REQUEST)
  await client.until(/hi$/)
  assert.equal(exchangesOf(gateway), [])
  const { bytesIn, bytesOut } = gateway.live.listeners[0]!
  client.destroy()
  await until(() => gateway.live.listeners[0]!.open === 0, 'the end of a connection')
  const { accepted, connections, ...rest } = gateway.live.listeners[0]!
  assert.is(accepted, 1)
  assert.equal(connections, { shown: [], more: 0 })
  assert.is(rest.bytesIn, bytesIn)
  assert.is(rest.bytesOut, bytesOut)
  assert.is(rest.bytesIn, REQUEST.length)
})

live('shows some of very many connections, and counts the others', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(routeTo(backend))
  for (let at = 0; at < MAX_LISTED_ENTRIES + 5; at++) await stage.client(gateway)
  await until(() => gateway.live.listeners[0]!.open === MAX_LISTED_ENTRIES + 5, 'all of them')
  const { connections } = gateway.live.listeners[0]!
  assert.is(connections.shown.length, MAX_LISTED_ENTRIES)
  assert.is(connections.more, 5)
  const tasks = describeTasks(gateway.live) as { listeners: { more: number }[] }
  assert.is(tasks.listeners[0]?.more, 5)
})

interface TaskSession {
  readonly id: string
  readonly children: { pid: number; rss_bytes: number | null; last_stderr: string[] }[]
}

function sessionsOf(shown: LiveSnapshot): TaskSession[] {
  const tasks = describeTasks(shown) as { mcp: { backends: { sessions: TaskSession[] }[] } }
  return tasks.mcp.backends.flatMap(({ sessions }) => sessions)
}

live(
  'shows an MCP session with its child: a prefix of its id, pid, memory, last error output',
  async () => {
    const [gateway, client] = await begin(stage, { targets: [server('one')] })
    const [session] = sessionsOf(gateway.live)
    assert.is(session?.id.length, 8)
    assert.ok(client.session.startsWith(session!.id))
    const [child] = session!.children
    assert.ok(process.kill(child!.pid, 0))
    if (process.platform === 'linux') assert.ok(child!.rss_bytes! > 1_000_000)
    assert.not.ok(JSON.stringify(describeTasks(gateway.live)).includes(client.session))
    const counts = (describeMemory(gateway.live) as { counts: Record<string, unknown> }).counts
    assert.is(counts['children'], 1)
    assert.equal(Object.values(counts['mcp_sessions'] as object), [1])
  },
)

live.run()
