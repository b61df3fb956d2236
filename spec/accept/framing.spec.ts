import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Backend, Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RawClient } from '../support/raw-client.ts'

const framing = suite('accept/framing')
const stage = new Stage()
framing.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const CHUNKED =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nx-t: 1\r\n\r\n'

/** A client of a gateway whose backend runs the scripts, one per connection. */
async function connectClient(
  ...scripts: Step[][]
): Promise<{ client: RawClient; backend: Backend }> {
  const backend = await stage.backend(...scripts)
  const gateway = await stage.gateway(routeTo(backend))
  return { client: await stage.client(gateway), backend }
}

framing('answers HEAD without a body, with any content-length', async () => {
  const { client, backend } = await connectClient([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
  ])
  const head = 'HEAD / HTTP/1.1\r\nhost: a\r\n\r\n'
  client.send(`${head}${head}GET / HTTP/1.1\r\nhost: a\r\n\r\n`)
  assert.is(
    await client.until(/hi$/),
    'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n' +
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' +
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi',
  )
  assert.is(backend.connections.length, 1)
})

framing('reads no body after 204 and 304', async () => {
  const { client, backend } = await connectClient([
    { wait: HEAD },
    { send: 'HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\netag: "x"\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 204 No Content\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
  ])
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(3))
  assert.is(
    await client.until(/hi$/),
    'HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\netag: "x"\r\n\r\n' +
      'HTTP/1.1 204 No Content\r\n\r\n' +
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi',
  )
  assert.is(backend.connections.length, 1)
})

framing(
  'sends an HTTP/1.0 client the content of chunks, ended by the close of the connection',
  async () => {
    const { client, backend } = await connectClient([{ wait: HEAD }, { send: CHUNKED }])
    client.send('GET / HTTP/1.0\r\nhost: a.test\r\n\r\n')
    assert.is(await client.untilClosed(), 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab')
    assert.is(backend.received, 'GET / HTTP/1.1\r\nhost: a.test\r\n\r\n')
  },
)

framing(
  'closes the connection of an HTTP/1.0 client with keep-alive when the length is unknown',
  async () => {
    const { client } = await connectClient([{ wait: HEAD }, { send: CHUNKED }])
    client.send('GET / HTTP/1.0\r\nhost: a.test\r\nconnection: keep-alive\r\n\r\n')
    assert.is(await client.untilClosed(), 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab')
  },
)

framing(
  'keeps the connection of an HTTP/1.0 client with keep-alive when the length is known',
  async () => {
    const { client } = await connectClient([
      { wait: HEAD },
      { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
      { again: true },
    ])
    const keep = 'GET / HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n'
    client.send(`${keep}GET / HTTP/1.0\r\nhost: a\r\n\r\n`)
    assert.is(
      await client.untilClosed(),
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nhi' +
        'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi',
    )
  },
)

framing('sends an empty Host to the backend when an HTTP/1.0 client sends none', async () => {
  const { client, backend } = await connectClient([
    { wait: HEAD },
    { send: 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n' },
  ])
  client.send('GET / HTTP/1.0\r\n\r\n')
  await client.untilClosed()
  assert.is(backend.received, 'GET / HTTP/1.1\r\nhost: \r\n\r\n')
})

framing(
  'chunks a body that ends with its connection, and keeps the client connection',
  async () => {
    const { client, backend } = await connectClient([
      { wait: HEAD },
      { send: 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nab' },
      { hold: true },
      { send: 'cde' },
      { hold: true },
      { close: true },
    ])
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
    assert.is(await client.until(/ab\r\n$/), `${head}2\r\nab\r\n`)
    backend.release()
    await client.until(/cde\r\n$/)
    backend.release()
    assert.is(await client.until(/0\r\n\r\n$/), `${head}2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n`)
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await client.until(/0\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
  },
)

framing('relays 100 Continue, and the body after it', async () => {
  const { client, backend } = await connectClient([
    { wait: HEAD },
    { send: 'HTTP/1.1 100 Continue\r\n\r\n' },
    { wait: /body/ },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' },
  ])
  const head = 'POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n'
  client.send(head)
  assert.is(await client.until(HEAD), 'HTTP/1.1 100 Continue\r\n\r\n')
  assert.is(backend.received, head)
  client.send('body')
  await client.until(/200 OK/)
  assert.is(backend.received, `${head}body`)
})

framing('relays every interim response with its fields, and none to HTTP/1.0', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n'
  const script: Step[] = [
    { wait: HEAD },
    { send: `HTTP/1.1 102 Processing\r\n\r\n${hints}` },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
    { again: true },
  ]
  const { client } = await connectClient(script)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const text = await client.until(/hi$/)
  const last = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'
  assert.is(client.take(text.length), `HTTP/1.1 102 Processing\r\n\r\n${hints}${last}`)
  client.send('GET / HTTP/1.0\r\nhost: a\r\n\r\n')
  assert.is(await client.untilClosed(), last.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
})

framing('stops after too many interim responses of a backend', async () => {
  const { client } = await connectClient([
    { wait: HEAD },
    { send: 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(20) },
  ])
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/503 Service Unavailable[^]*too many interim responses$/)
})

framing('relays a response at once that arrives before the request has ended', async () => {
  const { client, backend } = await connectClient([
    { wait: /part/ },
    { send: 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno' },
  ])
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\npart')
  await client.until(/no$/)
  // The end of the body is unknown, so neither connection is used again.
  assert.match(await client.untilClosed(), /^HTTP\/1.1 401 Unauthorized\r\n[^]*no$/)
  await backend.connections[0]!.untilClosed()
})

framing(
  'lets a client finish its upload after an early response, so that it can read the response',
  async () => {
    const { client, backend } = await connectClient([
      { wait: HEAD },
      { send: 'HTTP/1.1 413 Payload Too Large\r\ncontent-length: 3\r\n\r\nbig' },
    ])
    client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2000000\r\n\r\n')
    await backend.until((text) => HEAD.test(text))
    client.send(Buffer.alloc(2_000_000, 'x'))
    assert.match(await client.untilClosed(), /413 Payload Too Large[^]*big$/)
    assert.is(client.end, 'closed')
  },
)

framing('streams in both directions at once', async () => {
  const { client, backend } = await connectClient([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' },
    { wait: /one/ },
    { send: '3\r\nONE\r\n' },
    { wait: /two/ },
    { send: '3\r\nTWO\r\n' },
    { wait: /0\r\n\r\n/ },
    { send: '0\r\n\r\n' },
    { again: true },
  ])
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
  for (let i = 0; i < 2; i++) {
    client.send(head)
    await client.until(HEAD)
    client.send('3\r\none\r\n')
    await client.until(/ONE\r\n$/)
    client.send('3\r\ntwo\r\n')
    await client.until(/TWO\r\n$/)
    client.send('0\r\n\r\n')
    const text = await client.until(/0\r\n\r\n$/)
    client.take(text.length)
  }
  assert.is(backend.connections.length, 1)
})

framing.run()
