import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../lib/core/byte-budgets.ts'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'

const retry = suite('forward/retry')
const stage = new Stage()
/** Others that run in this process may have kept something before. */
let kept = 0
retry.before.each(() => {
  kept = bytesInFlight.retained
})
retry.after.each(async () => {
  await stage.clear()
  assert.is(bytesInFlight.retained, kept, 'nothing is kept for another try when there is none')
})

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const BUSY = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

retry('tries again for a code that is named, and says which try it is', async () => {
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

retry('hands on the last answer when no try is left', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: BUSY }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.until(/busy$/), BUSY)
  assert.is(backend.received.split('GET / ').length, 3)
})

retry('does not try again for a code that is not named', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: BUSY }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 3, codes: [502] }'))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.until(/busy$/), BUSY)
  assert.is(backend.received, GET)
})

retry('tries again when a backend cannot be reached, on another if there is one', async () => {
  const backend = await stage.backend(SERVE)
  const dead = await stage.backend([])
  const nowhere = dead.port
  await dead.close()
  const host = (port: number): string => `{ host: 127.0.0.1:${port} }`
  // Whichever comes first, some try of eleven meets the one that lives.
  const gateway = await stage.gateway(
    `routes: [{ name: all, policies: { retry: { attempts: 10 } }, ` +
      `backends: [${host(nowhere)}, ${host(backend.port)}] }]`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
})

retry('tells why in the end when a backend can never be reached', async () => {
  const dead = await stage.backend([])
  const { port } = dead
  await dead.close()
  const gateway = await stage.gateway(routeTo({ port }, 'retry: { attempts: 2, backoff: 5ms }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/503 Service Unavailable[^]*upstream call failed: connection refused$/)
  assert.is((await gateway.logged(1)).length, 1)
})

retry('tries again when a backend resets before it answers', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { reset: true }], SERVE)
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 1 }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
})

retry('gives each try its own backendRequestTimeout', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }], SERVE)
  const gateway = await stage.gateway(
    routeTo(backend, 'timeout: { backendRequestTimeout: 50ms }, retry: { attempts: 1 }'),
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  await backend.connections[0]!.untilClosed()
})

retry('sends a body again, also one that was still coming', async () => {
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

/** The content of whole chunks. */
function contentOf(chunks: string): string {
  const size = parseInt(chunks, 16)
  if (size === 0) return ''
  const from = chunks.indexOf('\r\n') + 2
  return chunks.substring(from, from + size) + contentOf(chunks.substring(from + size + 2))
}

retry('does not try again with a body above 64 KiB', async () => {
  const size = 70_000
  const backend = await stage.backend([{ wait: size }, { send: BUSY }])
  const gateway = await stage.gateway(routeTo(backend, 'retry: { attempts: 3, codes: [503] }'))
  const client = await stage.client(gateway)
  client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n${'x'.repeat(size)}`)
  assert.match(await client.until(/busy$/), '503 Service Unavailable')
  assert.is(backend.connections.length, 1)
})

retry('does not try again once the answer has begun', async () => {
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

retry('stops trying when the client leaves between two tries', async () => {
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

retry('lets requestTimeout end all tries', async () => {
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

retry(
  'asks the second backend by the Host it is due, whatever the first was asked by',
  async () => {
    const named = await stage.backend([{ wait: HEAD }, { send: BUSY }, { again: true }])
    const plain = await stage.backend(SERVE)
    const gateway = await stage.gateway(
      `routes: [{ name: all, policies: { retry: { attempts: 10, codes: [503] } }, ` +
        `backends: [{ host: localhost:${named.port} }, { host: 127.0.0.1:${plain.port} }] }]`,
    )
    // Which comes first is chance; that the named one came first at least once in these is not.
    for (let i = 0; i < 20 && !plain.received.includes('x-retry-attempt'); i++) {
      const client = await stage.client(gateway)
      client.send(GET)
      // One in two thousand is unlucky eleven times.
      await client.until(/ok$|busy$/)
    }
    assert.match(plain.received, 'x-retry-attempt')
    for (const head of plain.received.split(HEAD).slice(0, -1)) assert.match(head, /^host: a$/m)
    assert.match(named.received, /^host: localhost$/m)
  },
)

retry.run()
