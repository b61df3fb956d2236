// How an exchange can end, by phase: which side is notified, and what the access log contains.

import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'

const outcomes = suite('settle/outcomes')
const stage = new Stage()
outcomes.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HELD: Step[] = [{ wait: HEAD }, { hold: true }, { send: OK }, { again: true }]

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
}

const POST = 'POST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody'

outcomes('logs a complete exchange with all its fields', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('GET /p/q?secret=1 HTTP/1.1\r\nhost: a.test\r\n\r\n')
  await backend.until((text) => HEAD.test(text))
  assert.equal(await gateway.logged(0), [])
  backend.release()
  await client.until(/ok$/)
  const [line] = await gateway.logged(1)
  const { duration, ...rest } = line!
  assert.match(String(duration), /^\d+ms$/)
  assert.equal(rest, {
    level: 'info',
    message: 'request',
    gateway: 'default/default',
    listener: 'gateway/default',
    route: 'gateway/default/default/all',
    endpoint: `127.0.0.1:${backend.port}`,
    'src.addr': `127.0.0.1:${client.socket.localPort}`,
    'http.method': 'GET',
    'http.host': 'a.test',
    'http.path': '/p/q',
    'http.version': 'HTTP/1.1',
    'http.status': 200,
    protocol: 'http',
    outcome: 'complete',
  })
})

for (const [kind, request] of [
  ['a request', get('/2')],
  ['a request with a body', POST],
] as const)
  for (const leave of ['reset', 'halfClose', 'destroy'] as const)
    outcomes(
      `cancels ${kind} that waits for a connection when its client does ${leave}`,
      async () => {
        const backend = await stage.backend(HELD)
        const gateway = await stage.gateway(
          `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend)}`,
        )
        const first = await stage.client(gateway)
        first.send(get('/1'))
        await backend.until((text) => text === get('/1'))
        const second = await stage.client(gateway)
        second.send(request)
        const third = await stage.client(gateway)
        third.send('GET / HTTP/1.1\r\n\r\n')
        // The refusal shows that the gateway has read the second request too.
        await third.until(/400 Bad Request/)
        second[leave]()
        const lines = await gateway.logged(2)
        assert.is(lines[1]!['outcome'], 'client_closed')
        assert.is(lines[1]!['http.status'], 499)
        backend.release()
        await first.until(/ok$/)
        first.send(get('/3'))
        backend.release()
        await first.until(/ok[^]*ok$/)
        assert.is(backend.received, get('/1') + get('/3'))
      },
    )

for (const [kind, request] of [
  ['a request', get('/2')],
  ['a request with a body', POST],
] as const)
  outcomes(`stops connecting when the client of ${kind} leaves`, async () => {
    let ended = (): void => {}
    const gone = new Promise<void>((resolve) => (ended = resolve))
    // Accepts connections, but never completes the handshake.
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('close', ended)
      socket.once('data', () => client.destroy())
      socket.resume()
    })
    stage.add(server)
    server.listen(0, '127.0.0.1')
    await deadline(once(server, 'listening'), 30_000, 'a server to listen')
    const { port } = server.address() as AddressInfo
    const gateway = await stage.gateway(routeTo({ port }, 'backendTLS: { insecure: true }'))
    const client = await stage.client(gateway)
    client.send(request)
    await deadline(gone, 30_000, 'the handshake to be given up')
    assert.equal(await gateway.outcomes(1), ['client_closed'])
  })

outcomes('cancels the call when the client closes the connection before the response', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(get('/'))
  await backend.until((text) => HEAD.test(text))
  client.reset()
  await backend.connections[0]!.untilClosed()
  const [line] = await gateway.logged(1)
  assert.is(line!['outcome'], 'client_closed')
  assert.is(line!['http.status'], 499)
  assert.is(line!['error'], undefined)
})

outcomes(
  'cancels the call when the client closes the connection after pipelining another request',
  async () => {
    const backend = await stage.backend(HELD)
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send(get('/1') + get('/2'))
    await backend.until((text) => text === get('/1'))
    client.destroy()
    await backend.connections[0]!.untilClosed()
    assert.equal(await gateway.outcomes(1), ['client_closed'])
  },
)

outcomes('cancels the call when the client closes the connection during its upload', async () => {
  const backend = await stage.backend([{ wait: /part/ }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\npart')
  await backend.until((text) => text.endsWith('part'))
  client.destroy()
  await backend.connections[0]!.untilClosed()
  assert.equal(await gateway.outcomes(1), ['client_closed'])
})

outcomes('cancels the call when the client closes the connection during the response', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(get('/'))
  await client.until(/some$/)
  client.destroy()
  await backend.connections[0]!.untilClosed()
  const [line] = await gateway.logged(1)
  assert.is(line!['outcome'], 'client_closed')
  assert.is(line!['http.status'], 200)
})

outcomes(
  'cancels the call when the client closes the connection while the response is stalled',
  async () => {
    const backend = await stage.backend([
      { wait: HEAD },
      { send: 'HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n' },
      { send: Buffer.alloc(20_000_000) },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.socket.pause()
    client.send(get('/'))
    await backend.until((text) => HEAD.test(text))
    client.reset()
    await backend.connections[0]!.untilClosed()
    assert.equal(await gateway.outcomes(1), ['client_closed'])
  },
)

outcomes.run()
