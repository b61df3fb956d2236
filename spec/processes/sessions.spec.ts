// MCP sessions of a gateway with two worker processes: a request to any worker is served by the one that has the session.

import { connect } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import { PemFiles } from '../support/pem-files.ts'
import { RawClient } from '../support/raw-client.ts'
import { readMetrics } from '../support/prometheus.ts'
import { FreshClient, TwoWorkers } from '../support/two-workers.ts'
import type { Logged } from '../support/two-workers.ts'

const test = suite('MCP sessions of several workers')

let pem: PemFiles
let plain: TwoWorkers
let secured: TwoWorkers

test.before(async () => {
  pem = new PemFiles()
  plain = new TwoWorkers()
  secured = new TwoWorkers(`{ cert: ${pem.cert}, key: ${pem.key} }`)
  await Promise.all([plain.start(), secured.start()])
})

test.after(async () => {
  await Promise.allSettled([plain.stop(), secured.stop()])
  pem.close()
})

const isOf =
  (id: string) =>
  (line: Logged): boolean =>
    line['mcp.session.id'] === id.slice(0, 8)

const workerOf = (id: string): number => Number(/\.w(\d+)e\d+$/.exec(id)?.[1])

async function liveOn(workers: TwoWorkers, scheme: string): Promise<void> {
  const fresh = await new FreshClient(`${scheme}://127.0.0.1:${workers.port}/mcp`).connect()
  const { sessionId } = fresh
  const { tools } = await deadline(fresh.client.listTools(), 30_000, 'the tools')
  assert.ok(tools.length > 5)
  for (let at = 0; at < 50; at++)
    assert.is(await fresh.call('echo', { text: `call ${at}` }), `call ${at}`)
  await fresh.end()
  assert.equal([...new Set(fresh.requests)].toSorted(), ['DELETE', 'GET', 'POST'])
  const lines = await workers.lines(fresh.requests.length, isOf(sessionId))
  assert.is(lines.length, fresh.requests.length, 'each request has one line')
  assert.equal([...new Set(lines.map(({ worker }) => worker))], [workerOf(sessionId)])
  const from = new Set(lines.map((line) => String(line['src.addr'])))
  assert.is(from.size, lines.length, 'each has a connection of its own')
  assert.ok(fresh.addresses.length >= from.size)
  for (const address of from) assert.ok(fresh.addresses.includes(address), 'the client as it is')
}

test('every request of a client reaches its session on any connection', async () => {
  await liveOn(plain, 'http')
})

test('every request of a client reaches its session over TLS', async () => {
  await liveOn(secured, 'https')
})

test('clients of the older transport reach their session by the query', async () => {
  const fresh = await new FreshClient(`http://127.0.0.1:${plain.port}/sse`, 'old').connect()
  for (let at = 0; at < 6; at++) assert.is(await fresh.call('echo', { text: `${at}` }), `${at}`)
  await fresh.end()
})

/** One session of each worker. */
async function bothSessions(workers: TwoWorkers, scheme: string): Promise<FreshClient[]> {
  const found = new Map<number, FreshClient>()
  for (let tries = 0; found.size < 2 && tries < 20; tries++) {
    const fresh = await new FreshClient(`${scheme}://127.0.0.1:${workers.port}/mcp`).connect()
    const worker = workerOf(fresh.sessionId)
    // Connections go to the workers in turn: with an even number per session all sessions would be on one worker.
    if (found.has(worker)) (await RawClient.connect(workers.port)).destroy()
    if (found.has(worker)) await fresh.end()
    else found.set(worker, fresh)
  }
  return [...found.values()]
}

function echo(text: string): string {
  const params = { name: 'echo', arguments: { text } }
  return JSON.stringify({ jsonrpc: '2.0', id: text, method: 'tools/call', params })
}

function post(id: string, text: string, ...fields: string[]): string {
  return request(echo(text), `mcp-session-id: ${id}`, ...fields)
}

function request(body: string, ...fields: string[]): string {
  const lines = [
    'POST /mcp HTTP/1.1',
    'host: 127.0.0.1',
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    ...fields,
    `content-length: ${body.length}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

test('one connection moves from worker to worker with the sessions of its requests', async () => {
  const sessions = await bothSessions(plain, 'http')
  assert.is(sessions.length, 2)
  const raw = await RawClient.connect(plain.port)
  const texts = Array.from({ length: 24 }, (_, at) => `turn-${at}-`)
  // More often than a connection may be handed over, and all at once.
  raw.send(texts.map((text, at) => post(sessions[at % 2]!.sessionId, text)).join(''))
  await raw.settled(() => raw.text.includes(`"text":"${texts.at(-1)}"`), 15_000, 'all answers')
  const places = texts.map((text) => raw.text.indexOf(`"text":"${text}"`))
  assert.equal(
    places.toSorted((one, other) => one - other),
    places,
    'in their order',
  )
  assert.is(raw.text.match(/HTTP\/1\.1 200 OK/g)?.length, 24)
  raw.destroy()
  for (const one of sessions) await one.end()
})

/** Sums of both workers. */
async function connectionsOf(workers: TwoWorkers): Promise<Record<string, number>> {
  const samples = readMetrics(await workers.metrics())
  const sum = (name: string): number => {
    const found = samples.filter((sample) => sample.name === `gateway_${name}`)
    return found.reduce((all, { value }) => all + value, 0)
  }
  return {
    accepted: sum('downstream_connections_total'),
    open: sum('downstream_connections'),
    received: sum('downstream_received_bytes_total'),
    sent: sum('downstream_sent_bytes_total'),
  }
}

test('a connection that was handed over counts once', async () => {
  const found = new Map<number, string>()
  for (let tries = 0; found.size < 2 && tries < 20; tries++) {
    const raw = await RawClient.connect(plain.port)
    raw.send(greeting())
    await raw.until(/"serverInfo"/)
    const id = /mcp-session-id: (\S+)/.exec(raw.text)?.[1] ?? ''
    found.set(workerOf(id), id)
    raw.destroy()
  }
  const ids = [...found.values()]
  assert.is(ids.length, 2)
  const before = await whenQuiet()
  const raw = await RawClient.connect(plain.port)
  let received = 0
  for (const [at, text] of ['first', 'second', 'third'].entries()) {
    const request = post(ids[at % 2]!, text)
    received += request.length
    raw.send(request)
    await raw.until(new RegExp(`"text":"${text}".*}\\s*0\r\n\r\n$`))
  }
  const during = await connectionsOf(plain)
  assert.is(during['accepted']! - before['accepted']!, 1)
  assert.is(during['open'], 1)
  assert.is(during['received']! - before['received']!, received)
  assert.is(during['sent']! - before['sent']!, raw.text.length)
  raw.destroy()
  await whenQuiet()
})

/** No client is connected. */
async function whenQuiet(): Promise<Record<string, number>> {
  for (;;) {
    const found = await deadline(connectionsOf(plain), 30_000, 'statistics')
    if (found['open'] === 0) return found
  }
}

function greeting(): string {
  const clientInfo = { name: 'raw', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  return request(body)
}

test('a request in several parts is handed over with all of them', async () => {
  const sessions = await bothSessions(plain, 'http')
  const raws = [await RawClient.connect(plain.port), await RawClient.connect(plain.port)]
  for (const raw of raws)
    for (const [at, { sessionId }] of sessions.entries()) {
      const text = `piece-${at}-`
      const whole = post(sessionId, text, 'x-gateway-relay: {"address":"6.6.6.6","port":1}')
      const cuts = [whole.indexOf('accept:') + 3, whole.length - 9, whole.length]
      for (const [part, cut] of cuts.entries()) {
        raw.send(whole.slice(cuts[part - 1] ?? 0, cut))
        // When another request was answered, the first part of this one has been read.
        await sessions[at]!.call('echo')
      }
      await raw.settled(() => raw.text.includes(`"text":"${text}"`), 10_000, text)
    }
  const from = raws.map(({ socket }) => `127.0.0.1:${socket.localPort}`)
  const lines = await plain.lines(4, (line) => from.includes(String(line['src.addr'])))
  assert.is(lines.length, 4, 'only a worker can name the client of a request')
  for (const raw of raws) raw.destroy()
  for (const one of sessions) await one.end()
})

test('streams of HTTP/2 reach their sessions, many on one connection', async () => {
  const sessions = await bothSessions(secured, 'https')
  const client = connect(`https://127.0.0.1:${secured.port}`, { rejectUnauthorized: false })
  const requests = Array.from({ length: 8 }, async (_, at) => {
    const stream = client.request({
      ':method': 'POST',
      ':path': '/mcp',
      'mcp-session-id': sessions[at % 2]!.sessionId,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    })
    stream.end(echo(`stream-${at}-`))
    let text = ''
    for await (const part of stream.setEncoding('utf8')) text += String(part)
    return text
  })
  const texts = await deadline(Promise.all(requests), 15_000, 'eight answers')
  assert.ok(texts.every((text, at) => text.includes(`"text":"stream-${at}-"`)))
  const from = `127.0.0.1:${client.socket.localPort}`
  const lines = await secured.lines(8, (line) => line['src.addr'] === from)
  assert.equal(
    lines.map((line) => line['http.version']),
    Array.from({ length: 8 }, () => 'HTTP/2'),
    'whichever worker writes the line',
  )
  client.destroy()
  for (const one of sessions) await one.end()
})

test('the session of a dead worker is not found; other sessions are', async () => {
  const sessions = await bothSessions(plain, 'http')
  const [first, second] = sessions
  const pid = Number(await first!.call('pid', { of: 'parent' }))
  process.kill(pid, 'SIGKILL')
  await plain.program.prints(/worker died/)
  for (let tries = 0; tries < 4; tries++) {
    const raw = await RawClient.connect(plain.port)
    raw.send(post(first!.sessionId, 'lost'))
    await raw.settled(() => raw.text.includes('session not found'), 30_000, 'a refusal')
    assert.match(raw.text, /^HTTP\/1\.1 404 /)
    raw.destroy()
    assert.is(await second!.call('echo', { text: 'still' }), 'still')
  }
  await plain.program.prints((text) => text.match(/worker started/g)?.length === 3)
  for (const one of await bothSessions(plain, 'http')) await one.end()
  await second!.end()
  await deadline(first!.client.close(), 30_000, 'a client to close')
})

test.run()
