import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'

const limits = suite('accept/limits')
const stage = new Stage()
limits.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

function http(fields: string): string {
  return `frontendPolicies: { http: { ${fields} } }\n`
}

limits('answers 408 to a head that does not end in time', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await stage.gateway(http('headTimeout: 100ms') + routeTo(backend))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost')
  const text = await client.untilClosed()
  assert.match(
    text,
    /^HTTP\/1.1 408 Request Timeout\r\n[^]*connection: close\r\n\r\nrequest head timeout$/,
  )
  assert.is(backend.connections.length, 0)
  const [line] = await gateway.logged(1)
  assert.equal([line!['outcome'], line!['reason']], ['idle', 'HEAD_TIMEOUT'])
})

limits('does not extend the head timeout with each byte', async () => {
  const gateway = await stage.gateway(http('headTimeout: 100ms') + routeTo({ port: 1 }))
  const client = await stage.client(gateway)
  client.send(GET.slice(0, 10))
  const drip = setInterval(() => client.send('x'), 20)
  stage.add({ close: () => clearInterval(drip) })
  assert.match(await client.untilClosed(), '408 Request Timeout')
})

limits('closes without a response the connection of a client that sends nothing', async () => {
  const gateway = await stage.gateway(
    http('headTimeout: 100ms, http1IdleTimeout: 100ms') + routeTo({ port: 1 }),
  )
  const client = await stage.client(gateway)
  assert.is(await client.untilClosed(), '')
  assert.equal(await gateway.logged(0), [])
})

limits('answers 408 to a body that stalls, and cancels the backend call', async () => {
  const backend = await stage.backend([{ wait: /part/ }, { hold: true }])
  const gateway = await stage.gateway(http('bodyIdleTimeout: 100ms') + routeTo(backend))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\npart')
  assert.match(await client.untilClosed(), /^HTTP\/1.1 408 [^]*request body timeout$/)
  await backend.connections[0]!.untilClosed()
  const [line] = await gateway.logged(1)
  assert.equal([line!['outcome'], line!['reason']], ['idle', 'BODY_TIMEOUT'])
})

limits('does not time out a client whose body waits for the backend', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { hold: true },
    { send: OK },
    { wait: /body/ },
    { send: OK },
  ])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${http('bodyIdleTimeout: 40ms')}${routeTo(backend)}`,
  )
  const first = await stage.client(gateway)
  first.send(GET)
  await backend.until((text) => text === GET)
  const second = await stage.client(gateway)
  second.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody')
  // When a third request times out, the second would have timed out, too.
  const third = await stage.client(gateway)
  third.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n')
  await third.until(/408/)
  backend.release()
  await first.until(/ok$/)
  await second.until(/ok$/)
})

limits('cuts a response that the client does not read', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n' },
    { send: Buffer.alloc(30_000_000) },
  ])
  const gateway = await stage.gateway(http('responseIdleTimeout: 100ms') + routeTo(backend))
  const client = await stage.client(gateway)
  client.socket.pause()
  client.send(GET)
  assert.equal(await gateway.outcomes(1), ['idle'])
  await backend.connections[0]!.untilClosed()
})

limits(
  'closes the connection of a client that does not read the last bytes of its response',
  async () => {
    const gateway = await stage.gateway(
      http('responseIdleTimeout: 100ms') +
        `routes: [{ name: page, policies: { directResponse: { status: 200, body: ${'x'.repeat(60_000)} } } }]`,
    )
    const client = await stage.client(gateway)
    client.socket.pause()
    client.send(GET.repeat(1000))
    await gateway.logged(1)
    // Writing fails after the gateway has closed; reading would let the response continue.
    const written = new Promise<void>((resolve) => {
      client.socket.on('close', resolve)
      const probe = setInterval(() => client.send(GET), 20)
      stage.add({ close: () => clearInterval(probe) })
    })
    await deadline(written, 30_000, 'the connection to close')
  },
)

limits('closes an idle connection after http1IdleTimeout', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await stage.gateway(http('http1IdleTimeout: 100ms') + routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.untilClosed(), OK)
  assert.is(client.end, 'closed')
})

limits('answers 431 to a head above its bounds, and forwards nothing', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await stage.gateway(
    http('maxHeadBytes: 1024, http1MaxHeaders: 10') + routeTo(backend),
  )
  for (const fields of [`x: ${'y'.repeat(2000)}\r\n`, 'x: y\r\n'.repeat(11)]) {
    const client = await stage.client(gateway)
    client.send(`GET / HTTP/1.1\r\nhost: a\r\n${fields}\r\n`)
    assert.match(await client.untilClosed(), /^HTTP\/1.1 431 [^]*request head too large/)
  }
  assert.is(backend.connections.length, 0)
  const refused = gateway.measures.find(({ name }) => name === 'refused_total')!
  const counted = [...refused.series].filter(([, count]) => count !== 0)
  assert.equal(counted, [
    [{ limit: 'maxHeadBytes' }, 1],
    [{ limit: 'http1MaxHeaders' }, 1],
  ])
})

limits(
  'starts the timeout of a pipelined body with its head, even if no byte follows',
  async () => {
    const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { hold: true }])
    const gateway = await stage.gateway(http('bodyIdleTimeout: 100ms') + routeTo(backend))
    const client = await stage.client(gateway)
    client.send(`${GET}POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc`)
    assert.match(await client.untilClosed(), /ok[^]*408 Request Timeout[^]*request body timeout$/)
  },
)

limits('lets a request body pause after the response has started', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nso' },
    { wait: /late$/ },
    { send: 'me' },
  ])
  const silent = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(
    `${http('bodyIdleTimeout: 60ms')}routes: [` +
      `{ name: a, matches: [{ path: { exact: /silent } }], backends: [{ host: 127.0.0.1:${silent.port} }] },` +
      `{ name: b, backends: [{ host: 127.0.0.1:${backend.port} }] }]`,
  )
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n')
  await client.until(/so$/)
  // Other requests time out meanwhile, one after the other.
  for (let i = 0; i < 2; i++) {
    const other = await stage.client(gateway)
    other.send('POST /silent HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n')
    assert.match(await other.untilClosed(), '408')
  }
  client.send('late')
  assert.match(await client.until(/some$/), /^HTTP\/1.1 200/)
})

limits.run()
