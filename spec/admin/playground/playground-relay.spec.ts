// The relay from the playground to the listeners of the gateway, and what it refuses.

import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { McpClient } from '../../../lib/page/mcp/mcp-client.ts'
import { listMcpLocations } from '../../../lib/admin/page-api/mcp-locations.ts'
import type { McpLocation } from '../../../lib/admin/page-api/mcp-locations.ts'
import { configOf } from '../../support/config.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import { PemFiles } from '../../support/pem-files.ts'
import { Demo, INITIALIZE, POSTED, TARGET } from './demo.ts'

const WAIT_MS = 30_000

const OPEN = `mcp: { targets: [${TARGET}] }\n`

const relay = suite('ui/playground/relay')
const stage = new Stage()
relay.after.each(() => stage.clear())

/** A server in the place of the gateway's listener. */
async function impostor(answer: RequestListener): Promise<McpLocation> {
  const server = createServer(answer)
  stage.add({
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
  const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await deadline(listening, WAIT_MS, 'an impostor')
  const { port } = server.address() as AddressInfo
  const text = `gateways: { other: { port: ${port}, address: 127.0.0.1 } }\nroutes: [{ name: odd, gateways: other, backends: [{ mcp: { targets: [${TARGET}] } }] }]\n`
  return listMcpLocations(configOf(text))[0]!
}

relay('a session, its tools and a call go through it as through any listener', async () => {
  const demo = await Demo.start(stage, OPEN)
  const first = await demo.post(INITIALIZE)
  assert.is(first.status, 200)
  const session = first.headers.get('mcp-session-id') ?? ''
  assert.match(session, /^[\w-]{20,}$/)
  const inSession = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }
  const done = await demo.post({ method: 'notifications/initialized' }, inSession)
  assert.is(done.status, 202)
  const params = { name: 'echo', arguments: { text: 'across' } }
  const called = await demo.post({ id: 2, method: 'tools/call', params }, inSession)
  assert.is(called.status, 200)
  assert.match(called.text, /"text":"across"/)
  const over = await demo.ask(demo.url(), { method: 'DELETE', headers: inSession })
  assert.is(over.status, 202)
  const lines = await demo.gateway.logged(4)
  assert.is(
    lines.every((line) => line['src.addr'] !== undefined),
    true,
  )
  assert.is(lines.at(-1)?.['http.method'], 'DELETE')
})

relay('events of a response arrive one by one, and a cancellation reaches the server', async () => {
  const demo = await Demo.start(stage, OPEN)
  const heard: string[] = []
  const client = new McpClient({
    send: (method, { headers, body, signal }) =>
      fetch(demo.url(), {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      }),
    token: '',
    onNotification: (method) => heard.push(method),
    onRestart: () => {},
  })
  stage.add(client)
  await deadline(client.connect(), WAIT_MS, 'a session')
  const controller = new AbortController()
  const steps: number[] = []
  const params = { name: 'slow_count', arguments: { to: 1000, delayMs: 20 } }
  const counting = client.request('tools/call', params, {
    signal: controller.signal,
    onProgress: ({ progress }) => {
      steps.push(progress)
      if (steps.length === 3) controller.abort()
    },
  })
  const end = await deadline(
    counting.catch((error: Error) => error.message),
    WAIT_MS,
    'the call to be cancelled',
  )
  assert.is(end, 'cancelled')
  assert.equal(steps.slice(0, 3), [1, 2, 3])
  assert.ok(heard.includes('notifications/message'))
  const again = { name: 'echo', arguments: { text: 'still there' } }
  const { content } = await deadline(client.request('tools/call', again), WAIT_MS, 'an echo')
  assert.equal(content, [{ type: 'text', text: 'still there' }])
})

relay('a listener with TLS is reached by its own name, whatever its certificate', async () => {
  const { cert, key } = stage.add(new PemFiles())
  const demo = await Demo.start(
    stage,
    `gateways:
  default:
    port: \${PORT}
    address: 127.0.0.1
    listeners:
      - { name: tls, protocol: HTTPS, hostname: tools.example.com, tls: { cert: ${cert}, key: ${key} } }
mcp: { targets: [${TARGET}], dnsRebindingProtection: false }
`,
  )
  assert.is(demo.place.hostname, 'tools.example.com')
  assert.is((await demo.post(INITIALIZE)).status, 200)
})

relay('only backends of the configuration in force are reached', async () => {
  const demo = await Demo.start(stage, OPEN)
  for (const key of ['', 'nobody', `${demo.place.backend.key}x`, '__proto__', 'constructor']) {
    const { status, text } = await demo.ask(demo.url('/mcp', key))
    assert.is(status, 404)
    assert.equal(JSON.parse(text), { error: 'no such MCP backend' })
  }
})

relay('only the path of the backend is allowed', async () => {
  const demo = await Demo.start(
    stage,
    `${OPEN}routes: [{ name: other, matches: [{ path: { pathPrefix: /private } }], policies: { directResponse: { status: 200, body: private } } }]\n`,
  )
  const paths = [
    ...['/private', '/mcpx', '/', '', 'mcp', '//mcp', '/mcp/../private', '/mcp/./x', '/mcp/..'],
    ...['/mcp/%2e%2e/private', '/mcp?x=1', '/mcp#x', '/mcp x', '/mcp\r\nx: y', '/mcp\\..\\x'],
    ...['http://127.0.0.1:9/mcp', `/${'a'.repeat(2_000)}`, '/mcp/\u0000', '/mcp/ü'],
    ...['/.well-known/../private', '/.well-known/oauth-protected-resource/mcp', '/mcp/x', '/sse'],
  ]
  for (const path of paths) {
    const { status } = await demo.ask(demo.url(path))
    assert.is(status, 403, JSON.stringify(path))
  }
  assert.is(
    demo.gateway.lines.some(({ message }) => message === 'request'),
    false,
  )
})

relay('other routes are not reached by a backend that has all paths', async () => {
  const demo = await Demo.start(
    stage,
    `routes:
  - { name: all, backends: [{ mcp: { targets: [${TARGET}] } }] }
  - { name: other, matches: [{ path: { exact: /private } }], policies: { directResponse: { status: 200, body: private } } }
`,
  )
  assert.is((await demo.ask(demo.url('/private'))).status, 403)
  assert.is((await demo.post(INITIALIZE)).status, 200)
})

relay('nothing of the browser reaches the listener but what an MCP client says', async () => {
  const seen: Record<string, unknown>[] = []
  const place = await impostor((request, response) => {
    seen.push({ ...request.headers })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const demo = await Demo.start(stage, OPEN, [place])
  const client = await stage.client({ port: demo.port, host: '127.0.0.1' })
  const query = `backend=${encodeURIComponent(place.backend.key)}&path=/mcp`
  client.send(
    [
      `POST /api/playground?${query} HTTP/1.1`,
      `host: localhost:${demo.port}`,
      `origin: http://localhost:${demo.port}`,
      'referer: http://localhost/ui',
      'cookie: a=b',
      'user-agent: browser',
      'x-forwarded-for: 192.0.2.1',
      'connection: close, mcp-session-id',
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      'authorization: Bearer t',
      'mcp-session-id: s',
      'mcp-protocol-version: 2025-06-18',
      'last-event-id: 7',
      'x-gateway-trace: t',
      'content-length: 2',
      '',
      '{}',
    ].join('\r\n'),
  )
  assert.match(await client.untilClosed(), /^HTTP\/1\.1 200 /)
  assert.equal(seen.flatMap((headers) => Object.keys(headers)).sort(), [
    ...['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host'],
    ...['last-event-id', 'mcp-protocol-version', 'mcp-session-id', 'x-gateway-trace'],
  ])
  assert.is(seen[0]?.['connection'], 'close')
})

relay('a page or a cookie of a server never becomes one of the admin interface', async () => {
  const place = await impostor((_request, response) => {
    response.writeHead(401, {
      'content-type': 'text/html',
      'set-cookie': 'a=b',
      location: 'http://elsewhere.example/',
      'www-authenticate': 'Bearer error="x"',
      'access-control-allow-origin': '*',
    })
    response.end('<script>alert(1)</script>')
  })
  const demo = await Demo.start(stage, OPEN, [place])
  const { status, headers, text } = await demo.ask(demo.url('/mcp', place.backend.key))
  assert.is(status, 401)
  assert.is(text, '<script>alert(1)</script>')
  assert.is(headers.get('content-type'), 'text/plain')
  assert.is(headers.get('www-authenticate'), 'Bearer error="x"')
  assert.match(headers.get('content-security-policy') ?? '', /sandbox/)
  for (const name of ['set-cookie', 'location', 'access-control-allow-origin'])
    assert.is(headers.get(name), null)
})

relay('a post must be JSON of a known and bearable length', async () => {
  const demo = await Demo.start(stage, OPEN)
  const body = JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE })
  const plain = { method: 'POST', headers: { 'content-type': 'text/plain' }, body }
  assert.is((await demo.ask(demo.url(), plain)).status, 415)
  const large = { method: 'POST', headers: POSTED, body: `"${'a'.repeat(4_194_304)}"` }
  assert.is((await demo.ask(demo.url(), large)).status, 413)
  const client = await stage.client({ port: demo.port, host: '127.0.0.1' })
  const { pathname, search } = new URL(demo.url())
  client.send(
    `POST ${pathname}${search} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n`,
  )
  assert.match(await client.untilClosed(), /^HTTP\/1\.1 411 /)
})

relay('pages of other sites do not get through', async () => {
  const demo = await Demo.start(stage, OPEN)
  const foreign = [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of foreign) assert.is((await demo.post(INITIALIZE, headers)).status, 403)
  assert.is(
    demo.gateway.live.groups.every(({ open }) => open === 0),
    true,
  )
})

relay('at most 16 requests are relayed at a time, and a finished one makes room', async () => {
  const waiting: (() => void)[] = []
  let arrived = (): void => {}
  const place = await impostor((_request, response) => {
    response.once('close', () => arrived())
    waiting.push(() => response.end())
    arrived()
  })
  const demo = await Demo.start(stage, OPEN, [place])
  const url = demo.url('/mcp', place.backend.key)
  const leaving = new AbortController()
  const reach = async (count: number): Promise<void> => {
    while (waiting.length < count)
      await deadline(new Promise<void>((resolve) => (arrived = resolve)), WAIT_MS, 'an arrival')
  }
  const open = Array.from({ length: 16 }, () => fetch(url, { signal: leaving.signal }))
  await reach(16)
  const refused = await demo.ask(url)
  assert.is(refused.status, 503)
  const gone = new Promise<void>((resolve) => (arrived = resolve))
  leaving.abort()
  await deadline(Promise.allSettled(open), WAIT_MS, 'the leaving')
  await deadline(gone, WAIT_MS, 'the listener to hear of it')
})

relay(
  'a listener that closes the connection is reported, before and during its response',
  async () => {
    const place = await impostor((request, response) => {
      if (request.method === 'GET') return void request.socket.destroy()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: half', () => response.destroy())
    })
    const demo = await Demo.start(stage, OPEN, [place])
    const url = demo.url('/mcp', place.backend.key)
    const { status, text } = await demo.ask(url)
    assert.is(status, 502)
    assert.match(text, /^\{"error":"the listener does not respond: /)
    const cut = await fetch(url, { method: 'POST', headers: POSTED, body: '{}' })
    const rest = await deadline(
      cut.text().then(
        () => 'whole',
        () => 'cut',
      ),
      WAIT_MS,
      'the cut',
    )
    assert.is(rest, 'cut')
  },
)

relay.run()
