// The `retry` policy against scripted backends: when a request is sent again, and with which bytes.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../lib/core/byte-budgets.ts'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'

const retry = suite('forward/retry')
const stage = new Stage()
/** Other specs in this process may have kept some bytes. */
let kept = 0
retry.before.each(() => {
  kept = bytesInFlight.retained
})
retry.after.each(async () => {
  await stage.clear()
  assert.is(bytesInFlight.retained, kept, 'no bytes are kept when no retry can follow')
})

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const BUSY = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

retry('retries after a configured code, and sends the number of the attempt', async () => {
  const busy: Step[] = [{ wait: HEAD }, { send: BUSY }]
  const backend = await stage.backend(busy, busy, SERVE)
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 2, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.until(HEAD), OK)
  const heads = backend.connections.map(({ received }) => received).join('')
  assert.equal(heads.match(/x-retry-attempt: \d/g), ['x-retry-attempt: 1', 'x-retry-attempt: 2'])
  const lines = await gateway.logged(1)
  assert.is(lines.length, 1)
  assert.is(lines[0]!['outcome'], 'complete')
})

retry('forwards the last response when no attempt is left', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: BUSY }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.until(/busy$/), BUSY)
  assert.is(backend.received.split('GET / ').length, 3)
})

retry('does not retry after a code that is not configured', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: BUSY }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 3, codes: [502] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.until(/busy$/), BUSY)
  assert.is(backend.received, GET)
})

retry('retries when a backend cannot be reached, on another backend if there is one', async () => {
  const backend = await stage.backend(SERVE)
  const dead = await stage.backend([])
  const closedPort = dead.port
  await dead.close()
  const host = (port: number): string => `{ host: 127.0.0.1:${port} }`
  // Whichever is selected first, one of eleven attempts selects the backend that runs.
  const gateway = await stage.gateway(
    `routes: [{ name: all, policies: { retry: { attempts: 10 } }, ` +
      `backends: [${host(closedPort)}, ${host(backend.port)}] }]`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
})

retry('answers with the reason when no attempt reaches a backend', async () => {
  const dead = await stage.backend([])
  const { port } = dead
  await dead.close()
  const gateway = await stage.gateway(routeTo({ port }, 'retry: { attempts: 2, backoff: 5ms }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection refused$/)
  assert.is((await gateway.logged(1)).length, 1)
})

retry('retries when a backend resets before its response', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { reset: true }], SERVE)
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1 }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
})

retry('gives each attempt its own backendRequestTimeout', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }], SERVE)
  const gateway = await stage.gateway(
    routeTo(backend, 'timeout: { backendRequestTimeout: 50ms }, retry: { attempts: 1 }'),
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  await backend.connections[0]!.untilClosed()
})

retry('sends a body again, even if it was still arriving', async () => {
  const backend = await stage.backend(
    [{ wait: /part/ }, { send: BUSY }],
    [{ wait: /partrest/ }, { send: OK }],
  )
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1, codes: [503] }'))
  const client = await stage.client(gateway)
  const post = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n'
  client.send(`${post}\r\npart`)
  await backend.until((text) => text.split('\r\n\r\npart').length > 2)
  client.send('rest')
  await client.until(/ok$/)
  assert.is(backend.connections[0]!.received, `${post}\r\npart`)
  assert.is(backend.connections[1]!.received, `${post}x-retry-attempt: 1\r\n\r\npartrest`)
})

retry('sends chunks and trailers again', async () => {
  const backend = await stage.backend(
    [{ wait: /x-t: 1\r\n\r\n/ }, { reset: true }],
    [{ wait: /x-t: 1\r\n\r\n/ }, { send: OK }],
  )
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1 }'))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
  client.send('2\r\nab\r\n1\r\nc\r\n0\r\nx-t: 1\r\n\r\n')
  await client.until(/ok$/)
  const { received } = backend.connections[1]!
  assert.match(received, /transfer-encoding: chunked\r\n\r\n[^]*0\r\nx-t: 1\r\n\r\n$/)
  assert.is(contentOf(received.substring(received.indexOf('\r\n\r\n') + 4)), 'abc')
})

/** The content of complete chunks. */
function contentOf(chunks: string): string {
  const size = parseInt(chunks, 16)
  if (size === 0) return ''
  const from = chunks.indexOf('\r\n') + 2
  return chunks.substring(from, from + size) + contentOf(chunks.substring(from + size + 2))
}

retry('does not retry a body above 64 KiB', async () => {
  const size = 70_000
  const backend = await stage.backend([{ wait: size }, { send: BUSY }])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 3, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n${'x'.repeat(size)}`)
  assert.match(await client.until(/busy$/), '503 Service Unavailable')
  assert.is(backend.connections.length, 1)
})

retry('does not retry once the response has started', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome' },
    { hold: true },
    { reset: true },
  ])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 3, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/some$/)
  backend.release()
  await client.untilClosed()
  assert.is(backend.received, GET)
})

retry('stops when the client closes the connection between two attempts', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: BUSY }], SERVE)
  const gateway = await stage.gateway(
    routeTo(backend, 'retry: { attempts: 1, backoff: 10s, codes: [503] }'),
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await backend.until((text) => text === GET)
  await backend.connections[0]!.untilClosed()
  client.destroy()
  assert.equal(await gateway.outcomes(1), ['client_closed'])
  assert.is(backend.received, GET)
})

retry('ends all attempts at requestTimeout', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: BUSY }])
  const gateway = await stage.gateway(
    routeTo(
      backend,
      'timeout: { requestTimeout: 50ms }, retry: { attempts: 1, backoff: 10s, codes: [503] }',
    ),
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/504 Gateway Timeout[^]*request timeout$/)
})

retry('sends the second backend its own Host, not the one of the first backend', async () => {
  const named = await stage.backend([{ wait: HEAD }, { send: BUSY }, { again: true }])
  const plain = await stage.backend(SERVE)
  const gateway = await stage.gateway(
    `routes: [{ name: all, policies: { retry: { attempts: 10, codes: [503] } }, ` +
      `backends: [{ host: localhost:${named.port} }, { host: 127.0.0.1:${plain.port} }] }]`,
  )
  // The order is random; in twenty requests the named backend is first at least once.
  for (let i = 0; i < 20 && !plain.received.includes('x-retry-attempt'); i++) {
    const client = await stage.client(gateway)
    client.send(GET)
    // One request in two thousand selects the busy backend eleven times.
    await client.until(/ok$|busy$/)
  }
  assert.match(plain.received, 'x-retry-attempt')
  for (const head of plain.received.split(HEAD).slice(0, -1)) assert.match(head, /^host: a$/m)
  assert.match(named.received, /^host: localhost$/m)
})

retry.run()
