import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { splits } from '../support/splits.ts'

const http2 = suite('accept/http2')
const stage = new Stage()
http2.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

/** A client with prior knowledge on a plain port. */
function clientOf(gateway: RunningGateway): Http2Client {
  return stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
}

http2('relays body and trailers in both directions', async () => {
  const backend = await stage.backend([
    { wait: /0\r\nx-sum: 3\r\n\r\n/ },
    { send: 'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\nx-a: 1\r\nx-a: 2\r\n\r\n' },
    { send: '2\r\nhi\r\n0\r\nx-after: yes\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const request = clientOf(gateway).request(
    { ':method': 'POST', ':path': '/p?q', 'x-b': 'c' },
    { endStream: false, waitForTrailers: true },
  )
  request.stream.on('wantTrailers', () => request.stream.sendTrailers({ 'x-sum': '3' }))
  request.stream.end('abc')
  assert.is(await request.closed(), 0)
  assert.is(request.status, 201)
  assert.is(request.head['x-a'], '1, 2')
  assert.is(request.head['transfer-encoding'], undefined)
  assert.is(request.body, 'hi')
  assert.is(request.trailers['x-after'], 'yes')
  const authority = `127.0.0.1:${gateway.port}`
  assert.is(
    backend.received,
    `POST /p?q HTTP/1.1\r\nhost: ${authority}\r\nx-b: c\r\ntransfer-encoding: chunked\r\n\r\n` +
      '3\r\nabc\r\n0\r\nx-sum: 3\r\n\r\n',
  )
  const [line] = await gateway.logged(1)
  assert.is(line!['http.version'], 'HTTP/2')
  assert.is(line!['outcome'], 'complete')
})

http2('forwards a known length without adding transfer-encoding', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\nabc/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend))
  const request = clientOf(gateway).request(
    { ':method': 'POST', 'content-length': 3 },
    { endStream: false },
  )
  request.stream.end('abc')
  await request.closed()
  assert.match(backend.received, /content-length: 3\r\n\r\nabc$/)
  assert.not.match(backend.received, 'transfer-encoding')
})

http2('joins several cookie fields to one', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await stage.gateway(routeTo(backend))
  const request = clientOf(gateway).request({ cookie: ['a=1', 'b=2', 'c=3'] })
  await request.closed()
  assert.match(backend.received, '\r\ncookie: a=1; b=2; c=3\r\n')
})

http2('serves many streams of one connection at once, independent of each other', async () => {
  const backend = await stage.backend(
    [{ wait: HEAD }, { hold: true }, { send: OK }, { again: true }],
    SERVE,
  )
  const gateway = await stage.gateway(routeTo(backend))
  const client = clientOf(gateway)
  const slow = client.request({ ':path': '/slow' })
  await backend.until((text) => text.includes('/slow'))
  for (let i = 0; i < 100; i++) assert.is((await client.get(`/${i}`)).body, 'ok')
  assert.is(slow.status, 0)
  backend.release()
  await slow.closed()
  assert.is(slow.body, 'ok')
})

http2('relays interim responses', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n' },
    { send: OK },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const request = await clientOf(gateway).get('/')
  assert.equal(
    request.interim.map((head) => [Number(head[':status']), head['link']]),
    [[103, '</a>']],
  )
  assert.is(request.body, 'ok')
})

http2('answers HEAD, 204 and 304 with a head alone', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 204 No Content\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 304 Not Modified\r\netag: "x"\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = clientOf(gateway)
  const head = client.request({ ':method': 'HEAD' })
  await head.closed()
  assert.is(head.head['content-length'], '10')
  assert.is((await client.get('/')).status, 204)
  assert.is((await client.get('/')).status, 304)
  assert.is(backend.connections.length, 1)
})

http2('accepts a repeated backend field that HTTP/2 allows only once', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\nx-content-type-options: nosniff\r\nexpires: 0\r\n' },
    { send: 'x-content-type-options: nosniff\r\nexpires: 0\r\n' },
    { send: 'set-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 2\r\n\r\nok' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const request = await clientOf(gateway).get('/')
  assert.is(request.status, 200)
  assert.is(request.head['x-content-type-options'], 'nosniff')
  assert.equal(request.head['set-cookie'], ['a=1', 'b=2'])
  assert.is(request.body, 'ok')
})

http2('cancels the backend call when the client resets its stream', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = clientOf(gateway)
  const request = client.request({})
  await backend.until((text) => HEAD.test(text))
  request.stream.close(constants.NGHTTP2_CANCEL)
  await backend.connections[0]!.untilClosed()
  const [line] = await gateway.logged(1)
  assert.is(line!['outcome'], 'client_closed')
  assert.is(line!['http.status'], 499)
})

http2('cancels every backend call when the connection closes', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = clientOf(gateway)
  const requests = [client.request({}), client.request({})]
  for (const request of requests) await request.until(() => request.body === 'some')
  client.close()
  for (const connection of backend.connections) await connection.untilClosed()
  assert.equal(await gateway.outcomes(2), ['client_closed', 'client_closed'])
})

http2('resets the stream when the backend is cut in the middle, and only that one', async () => {
  const backend = await stage.backend(
    [
      { wait: HEAD },
      { send: 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome' },
      { hold: true },
      { reset: true },
    ],
    SERVE,
  )
  const gateway = await stage.gateway(routeTo(backend))
  const client = clientOf(gateway)
  const request = client.request({})
  await request.until(() => request.body === 'some')
  backend.release()
  assert.is(await request.closed(), constants.NGHTTP2_INTERNAL_ERROR)
  assert.is((await client.get('/')).body, 'ok')
  assert.equal(await gateway.outcomes(2), ['backend_reset', 'complete'])
})

http2('recognizes the preface at every split', async () => {
  const gateway = await stage.gateway(
    'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]',
  )
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  const settings = '\x00\x00\x00\x04\x00\x00\x00\x00\x00'
  for (const chunks of splits(Buffer.from(preface + settings, 'latin1'))) {
    const client = await stage.client(gateway)
    await client.sendApart(chunks)
    // The SETTINGS of the gateway, then its acknowledgement of the client's.
    await client.until((text) => text.includes('\x00\x00\x00\x04\x01\x00\x00\x00\x00'))
    assert.is(client.text.charCodeAt(3), 4)
    client.destroy()
  }
})

http2('refuses bytes that only start like the preface', async () => {
  const gateway = await stage.gateway(
    'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]',
  )
  const client = await stage.client(gateway)
  client.send('PRI * HTTP/1.1\r\nhost: a\r\n\r\n')
  assert.match(await client.untilClosed(), /^HTTP\/1\.1 505 /)
})

http2('refuses CONNECT and a malformed target', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(routeTo(backend))
  const client = clientOf(gateway)
  const connect = client.request({ ':method': 'CONNECT', ':authority': 'a:1' })
  await connect.until(() => connect.status === 405)
  const bad = client.request({ ':path': '/a#b' })
  await bad.closed()
  assert.is(bad.status, 400)
  assert.is(backend.connections.length, 0)
})

http2.run()
