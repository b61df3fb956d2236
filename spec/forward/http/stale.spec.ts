// Connections that die between two requests: what is sent again, and what is not.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { STALE_CONNECTION_MS } from '../../../lib/core/bounds.ts'
import { Backend } from '../../support/backend.ts'
import type { Step } from '../../support/backend.ts'
import { Stage, routeTo } from '../../support/gateway.ts'
import { CERT, KEY } from '../../support/tls-pair.ts'

const stale = suite('forward/http/stale')
const stage = new Stage()
stale.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const GET = 'GET /1 HTTP/1.1\r\nhost: a\r\n\r\n'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

/** Answers once, then does `last` to whatever comes next. */
function answersOnce(...last: Step[]): Step[] {
  return [{ wait: HEAD }, { send: OK }, ...last]
}

stale('sends a request again when its reused connection resets without a byte', async () => {
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

stale('sends a request again when its reused connection ends without a byte', async () => {
  const backend = await stage.backend(answersOnce({ wait: HEAD }, { close: true }), SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET.repeat(2))
  await client.until(/ok[^]*ok$/)
  assert.is(backend.connections[1]!.received, GET)
})

stale('sends a small POST again with its whole body, of either framing', async () => {
  const bodies = [
    'content-length: 4\r\n\r\nbody',
    'transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-t: 1\r\n\r\n',
  ]
  for (const body of bodies) {
    const post = `POST /2 HTTP/1.1\r\nhost: a\r\n${body}`
    const whole = (text: string): number =>
      text.includes(post) ? text.indexOf(post) + post.length : -1
    const backend = await stage.backend(answersOnce({ wait: whole }, { reset: true }), [
      { wait: whole },
      { send: OK },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/ok$/)
    client.send(post)
    await client.until(/ok[^]*ok$/)
    assert.is(backend.connections[1]!.received, post)
  }
})

stale('sends a request again by TLS, too', async () => {
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

stale('sends it again only once, and never on another idle connection', async () => {
  const reset: Step[] = [{ wait: HEAD }, { reset: true }]
  const backend = await stage.backend(answersOnce(...reset), reset, SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET.repeat(2))
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection reset$/)
  assert.is(backend.connections.length, 2)
})

stale('does not send again what a fresh connection lost', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { reset: true }], SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection reset$/)
  assert.is(backend.connections.length, 1)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

stale('does not send again when a byte was answered', async () => {
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

stale('does not send again a body that is too large to keep', async () => {
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

stale('does not send again a body that has not ended', async () => {
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

stale('notices an idle connection that the backend ends, and opens another', async () => {
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

stale('takes no connection that is on its way out, as for an upload under way', async () => {
  // Timers run before sockets are read, and a socket that a timer destroyed closes behind both. So
  // with the loop held up, the connection is swept and the request read in one turn.
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

// A JSON-RPC call ran twice: its backend died half a minute into it, on a connection that had been used before.
stale('sends nothing again that the backend has had for a while', async () => {
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
