// The connection pool of an origin: reuse, limits, the queue and idle connections.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../../support/backend.ts'
import { Stage, routeTo } from '../../support/gateway.ts'

const pool = suite('forward/http/pool')
const stage = new Stage()
pool.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HELD: Step[] = [{ wait: HEAD }, { hold: true }, { send: OK }, { again: true }]
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
}

pool('reuses an idle connection for any client', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  for (const path of ['/1', '/2', '/3']) {
    const client = await stage.client(gateway)
    client.send(get(path))
    await client.until(/ok$/)
  }
  assert.is(backend.connections.length, 1)
  assert.is(backend.received, get('/1') + get('/2') + get('/3'))
})

pool('opens a connection for each parallel request', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(routeTo(backend))
  const clients = await Promise.all([1, 2, 3].map(() => stage.client(gateway)))
  for (const client of clients) client.send(get('/'))
  await backend.until((text) => text === get('/').repeat(3))
  assert.is(backend.connections.length, 3)
  for (let i = 0; i < 3; i++) backend.release()
  for (const client of clients) await client.until(/ok$/)
})

pool('does not reuse a connection after `connection: close`', async () => {
  const close = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'
  const backend = await stage.backend([{ wait: HEAD }, { send: close }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  for (let i = 1; i <= 2; i++) {
    client.send(get('/'))
    assert.not.match(await client.until((text) => text.split('ok').length > i), 'connection: close')
  }
  assert.is(backend.connections.length, 2)
})

pool('does not reuse a connection with bytes after the response', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: `${OK}HTTP/1.1 200 OK\r\n` }], SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(get('/1') + get('/2'))
  await client.until(/ok[^]*ok$/)
  assert.is(backend.connections[1]!.received, get('/2'))
})

pool('closes an idle connection on which the backend sends bytes', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: OK },
    { hold: true },
    { send: 'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(get('/'))
  await client.until(/ok$/)
  backend.release()
  await backend.connections[0]!.untilClosed()
})

pool(
  'closes an idle connection before the timeout in the backend’s `keep-alive` field',
  async () => {
    const hint = OK.replace('\r\n\r\n', '\r\nkeep-alive: timeout=1\r\n\r\n')
    const backend = await stage.backend([{ wait: HEAD }, { send: hint }])
    const gateway = await stage.gateway(
      `config: { backend: { connectTimeout: 100ms } }\n${routeTo(backend)}`,
    )
    const client = await stage.client(gateway)
    client.send(get('/'))
    assert.not.match(await client.until(/ok$/), 'keep-alive')
    await backend.connections[0]!.untilClosed()
  },
)

pool('closes a connection that is idle for poolIdleTimeout', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await stage.gateway(
    `config: { backend: { poolIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const client = await stage.client(gateway)
  client.send(get('/'))
  await client.until(/ok$/)
  await backend.connections[0]!.untilClosed()
})

pool('queues requests above poolMaxSize and serves them in order', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend)}`,
  )
  const clients = []
  for (const path of ['/1', '/2', '/3']) {
    const client = await stage.client(gateway)
    client.send(get(path))
    clients.push(client)
    if (path === '/1') await backend.until((text) => text === get('/1'))
  }
  for (const client of clients) {
    backend.release()
    await client.until(/ok$/)
  }
  assert.is(backend.received, get('/1') + get('/2') + get('/3'))
  assert.is(backend.connections.length, 1)
})

pool('gives a connection to a queued request after a response without a body', async () => {
  // The connection is free before the response is reported; the queued request must not be lost.
  const backend = await stage.backend([
    { wait: HEAD },
    { hold: true },
    { send: 'HTTP/1.1 204 No Content\r\n\r\n' },
    { again: true },
  ])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend)}`,
  )
  const first = await stage.client(gateway)
  const second = await stage.client(gateway)
  first.send(get('/1'))
  await backend.until((text) => text === get('/1'))
  second.send(get('/2'))
  const third = await stage.client(gateway)
  third.send('GET / HTTP/1.1\r\n\r\n')
  // This refusal shows that the gateway has also read the second request.
  await third.until(/400 Bad Request/)
  backend.release()
  await first.until(/204 No Content/)
  backend.release()
  await second.until(/204 No Content/)
  assert.is(backend.received, get('/1') + get('/2'))
})

pool('refuses with 503 when poolMaxWaiting requests are queued', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1, poolMaxWaiting: 0 } }\n${routeTo(backend)}`,
  )
  const first = await stage.client(gateway)
  first.send(get('/1'))
  await backend.until((text) => text === get('/1'))
  const second = await stage.client(gateway)
  second.send(get('/2'))
  await second.until(
    /503 Service Unavailable[^]*upstream call failed: too many requests are waiting, at most 0 \(config.backend.poolMaxWaiting\)$/,
  )
  backend.release()
  await first.until(/ok$/)
  const [refused, served] = await gateway.logged(2)
  assert.is(refused!['reason'], 'POOL_EXHAUSTED')
  assert.is(served!['outcome'], 'complete')
})

pool('opens a connection for a queued request after another connection is reset', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }, { reset: true }], SERVE)
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend)}`,
  )
  const first = await stage.client(gateway)
  first.send(get('/1'))
  await backend.until((text) => text === get('/1'))
  const second = await stage.client(gateway)
  second.send(get('/2'))
  backend.release()
  await first.until(/503 Service Unavailable[^]*upstream call failed: connection reset$/)
  await second.until(/ok$/)
})

pool('answers 503 when the connection is refused', async () => {
  const backend = await stage.backend([])
  const { port } = backend
  await backend.close()
  const gateway = await stage.gateway(routeTo({ port }))
  const client = await stage.client(gateway)
  client.send(get('/'))
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection refused$/)
  const [line] = await gateway.logged(1)
  assert.is(line!['endpoint'], `127.0.0.1:${port}`)
  assert.is(line!['reason'], 'BACKEND_CONNECT')
})

pool.run()
