// Connections that close between two requests: which requests are sent again, and which are not.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { STALE_CONNECTION_MS } from '../../../lib/core/bounds.ts'
import { Backend } from '../../support/backend.ts'
import type { Step } from '../../support/backend.ts'
import { Stage, routeTo } from '../../support/gateway.ts'
import { CERT, KEY } from '../../support/tls-pair.ts'
import { until } from '../../support/until.ts'

const stale = suite('forward/http/stale')
const stage = new Stage()
stale.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const GET = 'GET /1 HTTP/1.1\r\nhost: a\r\n\r\n'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

/** Answers one request, then runs the steps in `last`. */
function answersOnce(...last: Step[]): Step[] {
  return [{ wait: HEAD }, { send: OK }, ...last]
}

stale('sends a request again when a reused connection is reset before the first byte', async () => {
  const backend = await stage.backend(answersOnce({ wait: HEAD }, { reset: true }), SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send('GET /2 HTTP/1.1\r\nhost: a\r\nx-a: 1\r\n\r\n')
  await client.until(/ok[^]*ok$/)
  const again = 'GET /2 HTTP/1.1\r\nhost: a\r\nx-a: 1\r\n\r\n'
  assert.is(backend.connections[0]!.received, GET + again)
  assert.is(backend.connections[1]!.received, again)
  assert.equal(await gateway.outcomes(2), ['complete', 'complete'])
})

stale('sends a request again when a reused connection ends before the first byte', async () => {
  const backend = await stage.backend(answersOnce({ wait: HEAD }, { close: true }), SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET.repeat(2))
  await client.until(/ok[^]*ok$/)
  assert.is(backend.connections[1]!.received, GET)
})

const BODIES = [
  'content-length: 4\r\n\r\nbody',
  'transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-t: 1\r\n\r\n',
]

/** The length of the text through this request; -1 before it is complete. */
function through(request: string): (text: string) => number {
  return (text) => (text.includes(request) ? text.indexOf(request) + request.length : -1)
}

stale('sends a small PUT again with its whole body, in either framing', async () => {
  for (const body of BODIES) {
    const put = `PUT /2 HTTP/1.1\r\nhost: a\r\n${body}`
    const backend = await stage.backend(answersOnce({ wait: through(put) }, { reset: true }), [
      { wait: through(put) },
      { send: OK },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/ok$/)
    client.send(put)
    await client.until(/ok[^]*ok$/)
    assert.is(backend.connections[1]!.received, put)
  }
})

// A backend whose workers died executed 309 of 2,851 POSTs twice.
stale('never sends a request twice whose method is not idempotent', async () => {
  for (const method of ['POST', 'PATCH'])
    for (const body of BODIES)
      for (const end of [{ reset: true }, { close: true }] as const) {
        const request = `${method} /2 HTTP/1.1\r\nhost: a\r\n${body}`
        const backend = await stage.backend(answersOnce({ wait: through(request) }, end), SERVE)
        const gateway = await stage.gateway(routeTo(backend))
        const client = await stage.client(gateway)
        client.send(GET)
        await client.until(/ok$/)
        client.send(request)
        await client.until(/503 Service Unavailable[^]*upstream call failed: connection \w+$/)
        assert.is(backend.connections.length, 1)
        assert.equal(await gateway.outcomes(2), ['complete', 'backend_reset'])
      }
})

stale('sends a POST again if a retry policy says so', async () => {
  const post = `POST /2 HTTP/1.1\r\nhost: a\r\n${BODIES[0]}`
  const backend = await stage.backend(answersOnce({ wait: through(post) }, { reset: true }), [
    { wait: /body/ },
    { send: OK },
  ])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(post)
  await client.until(/ok[^]*ok$/)
  assert.is(backend.connections.length, 2)
})

// The backend's end of the connection is closed before the gateway reads the request, in the same turn of the event loop.
for (const transport of ['plain', 'tls'] as const)
  stale(`sends a POST on a new connection if the idle one has ended, ${transport}`, async () => {
    const place = transport === 'tls' ? { tls: { cert: CERT, key: KEY } } : {}
    const post = `POST /2 HTTP/1.1\r\nhost: a\r\n${BODIES[0]}`
    const serve: Step[] = [{ wait: through(post) }, { send: OK }]
    const backend = stage.add(await Backend.startAt(place, answersOnce({ hold: true }), serve))
    const policies = transport === 'tls' ? 'backendTLS: { insecure: true }' : ''
    // A short deadline makes the clock tick every 500 ms; without a tick the connection counts as just used.
    const gateway = await stage.gateway(
      `config: { backend: { connectTimeout: 2s } }\n${routeTo(backend, policies)}`,
    )
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/ok$/)
    const idleUntil = performance.now() + 1_200
    await until('the connection to idle', () => performance.now() > idleUntil)
    client.send(post)
    backend.connections[0]!.socket.destroy()
    await client.until(/ok[^]*ok$/)
    assert.is(backend.connections[0]!.received, GET)
    assert.is(backend.connections[1]!.received, post)
  })

stale('sends a request again over TLS', async () => {
  const backend = stage.add(
    await Backend.startAt(
      { tls: { cert: CERT, key: KEY } },
      answersOnce({ wait: HEAD }, { close: true }),
      SERVE,
    ),
  )
  const gateway = await stage.gateway(routeTo(backend, 'backendTLS: { insecure: true }'))
  const client = await stage.client(gateway)
  client.send(GET.repeat(2))
  await client.until(/ok[^]*ok$/)
  assert.is(backend.connections[1]!.received, GET)
})

stale('sends a request again only once, and never on another idle connection', async () => {
  const reset: Step[] = [{ wait: HEAD }, { reset: true }]
  const backend = await stage.backend(answersOnce(...reset), reset, SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET.repeat(2))
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection reset$/)
  assert.is(backend.connections.length, 2)
})

stale('does not send a request again after a new connection is reset', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { reset: true }], SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection reset$/)
  assert.is(backend.connections.length, 1)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

stale('does not send a request again after the first byte of the response', async () => {
  const backend = await stage.backend(
    answersOnce({ wait: HEAD }, { send: 'H' }, { hold: true }, { reset: true }),
    SERVE,
  )
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(GET)
  await backend.until((text) => text === GET.repeat(2))
  // The byte must be read before the reset overtakes it.
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
  backend.release()
  await client.until(/503 Service Unavailable/)
  assert.is(backend.connections.length, 1)
})

stale('does not send a body again that is too large to keep', async () => {
  const size = 100_000
  const post = `POST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`
  const backend = await stage.backend(
    answersOnce({ wait: post.length + size }, { reset: true }),
    SERVE,
  )
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(post + 'x'.repeat(size))
  await client.until(/503 Service Unavailable/)
  assert.is(backend.connections.length, 1)
})

stale('does not send a body again that is incomplete', async () => {
  const post = 'POST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf'
  const backend = await stage.backend(answersOnce({ wait: post.length }, { reset: true }), SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(post)
  await client.until(/503 Service Unavailable/)
  assert.is(backend.connections.length, 1)
})

stale('opens another connection after the backend closed an idle one', async () => {
  const backend = await stage.backend(answersOnce({ hold: true }, { close: true }), SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  backend.release()
  await backend.connections[0]!.untilClosed()
  client.send(GET)
  await client.until(/ok[^]*ok$/)
  assert.is(backend.connections[0]!.received, GET)
  assert.is(backend.connections[1]!.received, GET)
})

stale('does not send an upload on a connection that is being closed', async () => {
  // Timers run before sockets are read, and a socket that a timer destroyed closes after both. So
  // while the event loop is blocked, the connection expires and the request is read in one turn.
  const backend = await stage.backend(SERVE, [{ wait: /body/ }, { send: OK }])
  const gateway = await stage.gateway(
    `config: { backend: { poolIdleTimeout: 40ms } }\n${routeTo(backend)}`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbo')
  const until = performance.now() + 100
  while (performance.now() < until) continue
  await backend.connections[0]!.untilClosed()
  client.send('dy')
  await client.until(/ok[^]*ok$/)
})

// A JSON-RPC call ran twice: its backend exited after half a minute of work, on a reused connection.
stale('does not send a request again that the backend has had for some time', async () => {
  const backend = await stage.backend(
    answersOnce({ wait: HEAD }, { sleep: STALE_CONNECTION_MS + 2_000 }, { reset: true }),
    SERVE,
  )
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(GET)
  await client.until(/HTTP\/1\.1 503 /)
  assert.is(backend.connections.length, 1)
})

stale.run()
