// The timeouts of a route and of a backend: when they end a request, and when they must not.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage, routeTo } from '../support/gateway.ts'

const timeout = suite('forward/timeout')
const stage = new Stage()
timeout.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

timeout(
  'answers 504 when requestTimeout passes before the response head, and keeps the connection',
  async () => {
    const backend = await stage.backend(
      [{ wait: HEAD }, { hold: true }],
      [{ wait: HEAD }, { send: OK }],
    )
    const gateway = await stage.gateway(routeTo(backend, 'timeout: { requestTimeout: 50ms }'))
    const client = await stage.client(gateway)
    client.send(GET)
    const text = await client.until(/timeout$/)
    assert.match(text, /^HTTP\/1.1 504 Gateway Timeout\r\n[^]*\r\n\r\nrequest timeout$/)
    assert.not.match(text, 'connection: close')
    await backend.connections[0]!.untilClosed()
    client.send(GET)
    await client.until(/ok$/)
    const [line] = await gateway.logged(1)
    assert.equal([line!['outcome'], line!['reason']], ['backend_timeout', 'REQUEST_TIMEOUT'])
  },
)

timeout('answers 504 when backendRequestTimeout passes before the response head', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend, 'timeout: { backendRequestTimeout: 50ms }'))
  const client = await stage.client(gateway)
  client.send(GET)
  const text = await client.until(/timeout$/)
  assert.match(text, /^HTTP\/1.1 504 Gateway Timeout\r\n[^]*\r\n\r\nupstream call timeout$/)
  await backend.connections[0]!.untilClosed()
  const [line] = await gateway.logged(1)
  assert.equal([line!['outcome'], line!['reason']], ['backend_timeout', 'BACKEND_TIMEOUT'])
})

timeout('counts the time in the queue of the pool', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }, { send: OK }])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }
routes:
  - name: slow
    matches: [{ path: { exact: /slow } }]
    backends: [{ host: 127.0.0.1:${backend.port} }]
  - name: all
    backends: [{ host: 127.0.0.1:${backend.port} }]
    policies: { timeout: { requestTimeout: 50ms } }`,
  )
  const first = await stage.client(gateway)
  first.send('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n')
  await backend.until((text) => HEAD.test(text))
  const second = await stage.client(gateway)
  second.send(GET)
  await second.until(/504 [^]*request timeout$/)
  backend.release()
  await first.until(/ok$/)
})

for (const key of ['requestTimeout', 'backendRequestTimeout'])
  timeout(`${key} never cuts a response body that has started`, async () => {
    const backend = await stage.backend(
      [
        { wait: HEAD },
        { send: 'HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsome' },
        { hold: true },
        { send: 'more' },
      ],
      [{ wait: HEAD }, { hold: true }],
    )
    // Long enough for the head to arrive on a busy machine.
    const gateway = await stage.gateway(routeTo(backend, `timeout: { ${key}: 500ms }`))
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/some$/)
    // When a request that started later has timed out, the time of the first one is over as well.
    const other = await stage.client(gateway)
    other.send(GET)
    await other.until(/504/)
    backend.release()
    await client.until(/somemore$/)
  })

timeout('cuts a response whose backend sends nothing more in the middle of the body', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsome' },
  ])
  const gateway = await stage.gateway(
    `config: { backend: { bodyIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  assert.match(await client.untilClosed(), /some$/)
  await backend.connections[0]!.untilClosed()
  assert.equal(await gateway.outcomes(1), ['backend_timeout'])
})

timeout('does not cut a response because the client reads slowly', async () => {
  const size = 40_000_000
  const backend = await stage.backend(
    [
      { wait: HEAD },
      { send: `HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n` },
      { send: Buffer.alloc(size) },
    ],
    [{ wait: HEAD }, { send: 'HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsome' }],
  )
  const gateway = await stage.gateway(
    `config: { backend: { bodyIdleTimeout: 400ms } }\n${routeTo(backend)}`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(HEAD)
  client.socket.pause()
  // Three silent backends are cut meanwhile, so the timeout has passed several times.
  for (let i = 0; i < 3; i++) {
    const other = await stage.client(gateway)
    other.send(GET)
    await other.untilClosed()
  }
  let count = client.text.length
  client.socket.removeAllListeners('data')
  client.socket.on('data', (bytes) => (count += bytes.length))
  client.socket.resume()
  const lines = await gateway.logged(4)
  assert.is(lines[3]!['outcome'], 'complete')
})

timeout('ends an upload that the backend does not read', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(
    `config: { backend: { bodyIdleTimeout: 100ms } }\n${routeTo(backend)}`,
  )
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 40000000\r\n\r\n')
  await backend.until((received) => HEAD.test(received))
  backend.connections[0]!.socket.pause()
  client.send(Buffer.alloc(40_000_000))
  assert.match(await client.until(/upstream call timeout$/), /^HTTP\/1.1 504/)
  assert.equal(await gateway.outcomes(1), ['backend_timeout'])
})

timeout.run()
