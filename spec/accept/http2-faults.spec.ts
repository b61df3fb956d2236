import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import {
  END_HEADERS,
  END_STREAM,
  PREFACE,
  fieldLines,
  frame,
  untilGone,
} from '../support/http2-frames.ts'

const faults = suite('accept/http2 faults')
const stage = new Stage()
faults.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const BODY = { endStream: false }
const PAGE = 'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]'

function clientOf(gateway: RunningGateway, initialWindowSize = 65_535): Http2Client {
  const settings = { initialWindowSize }
  return stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`, { settings }))
}

// A reset without an error leaves a stream closed but not destroyed while its body is held. Responding on it threw,
// and in a timer or a socket event that ended the process.
faults('treats a reset without an error as a closed client', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend, 'timeout: { requestTimeout: 2s }'))
  const { stream } = clientOf(gateway).request({ ':method': 'POST' }, BODY)
  await backend.until((text) => HEAD.test(text))
  const [connection] = backend.connections
  connection!.socket.pause()
  let taken = 0
  const part = Buffer.alloc(65_536)
  const write = (): void => {
    stream.write(part, (error) => {
      taken++
      if (!error) write()
    })
  }
  write()
  for (let still = 0, seen = -1; still < 50; still++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (taken !== seen) still = 0
    seen = taken
  }
  stream.close(constants.NGHTTP2_NO_ERROR)
  assert.equal(await gateway.outcomes(1), ['client_closed'])
  connection!.socket.resume()
  await connection!.untilClosed()
})

faults('calls no backend for a stream that was reset together with its head', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  const head = fieldLines(
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'a'],
  )
  client.send(
    Buffer.concat([
      PREFACE,
      frame('settings', 0, 0),
      frame('headers', END_HEADERS, 1, head),
      frame('reset', 0, 1, Buffer.alloc(4)),
    ]),
  )
  assert.equal(await gateway.outcomes(1), ['client_closed'])
  assert.is(backend.connections.length, 0)
})

for (const length of ['0000000000000003', '9007199254740993'])
  faults(`refuses content-length: ${length}, which parsers may read differently`, async () => {
    const backend = await stage.backend([])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    const head = fieldLines(
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'a'],
      ['content-length', length],
    )
    client.send(
      Buffer.concat([
        PREFACE,
        frame('settings', 0, 0),
        frame('headers', END_HEADERS, 1, head),
        frame('data', 0, 1, Buffer.from('abc')),
      ]),
    )
    await client.until(/invalid request: content-length out of range/)
    assert.is(backend.connections.length, 0)
  })

for (const name of ['content-length', 'host', 'trailer'])
  faults(`refuses a request with ${name} among its trailers`, async () => {
    const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
    const gateway = await stage.gateway(routeTo(backend))
    const request = clientOf(gateway).request(
      { ':method': 'POST' },
      { ...BODY, waitForTrailers: true },
    )
    request.stream.on('wantTrailers', () => request.stream.sendTrailers({ [name]: '3' }))
    request.stream.end('abc')
    await request.closed()
    assert.is(request.status, 400)
    assert.is(request.body, 'invalid request: forbidden trailer')
    await backend.connections[0]!.untilClosed()
    assert.not.match(backend.received, /\r\n0\r\n/)
    assert.equal(await gateway.outcomes(1), ['client_error'])
  })

faults('forwards fields with the names of Object.prototype', async () => {
  const odd = 'constructor: a\r\n__proto__: b\r\n'
  const answer = `HTTP/1.1 200 OK\r\n${odd}content-length: 2\r\n\r\nok`
  const backend = await stage.backend([{ wait: HEAD }, { send: answer }])
  const gateway = await stage.gateway(routeTo(backend))
  const request = await clientOf(gateway).get('/')
  assert.is(request.body, 'ok')
  assert.is(request.head['constructor'] as unknown, 'a')
  assert.is(request.head['__proto__'] as unknown, 'b')
})

faults('sends no content with a 205', async () => {
  const answer = 'HTTP/1.1 205 Reset Content\r\ncontent-length: 2\r\n\r\nok'
  const backend = await stage.backend([{ wait: HEAD }, { send: answer }])
  const gateway = await stage.gateway(routeTo(backend))
  const request = clientOf(gateway).request({})
  assert.is(await request.closed(), 0)
  assert.equal([request.status, request.body], [205, ''])
})

faults('resets a stream whose status HTTP/2 cannot send', async () => {
  const answer = 'HTTP/1.1 600 Odd\r\ncontent-length: 2\r\n\r\nok'
  const backend = await stage.backend([{ wait: HEAD }, { send: answer }])
  const gateway = await stage.gateway(routeTo(backend))
  const request = clientOf(gateway).request({})
  const code = await request.closed()
  // Or a 503 of the gateway, where the reader refuses such a head.
  assert.ok(code === constants.NGHTTP2_INTERNAL_ERROR || request.status === 503)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

const LATE: Step[] = [{ wait: HEAD }, { sleep: 250 }, { send: OK }]

faults('does not time out a client whose body waits for a connection', async () => {
  const backend = await stage.backend([...LATE, { wait: /abc/ }, { send: OK }])
  const gateway = await stage.gateway(
    'config: { backend: { poolMaxSize: 1 } }\n' +
      `frontendPolicies: { http: { bodyIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const client = clientOf(gateway)
  const first = client.request({})
  await backend.until((text) => HEAD.test(text))
  const second = client.request({ ':method': 'POST' }, BODY)
  second.stream.end('abc')
  await first.closed()
  await second.closed()
  assert.is(second.body, 'ok')
})

faults('lets a request body pause while the response is sent', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab' },
    { sleep: 250 },
    { send: 'cd' },
  ])
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { bodyIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const request = clientOf(gateway).request({ ':method': 'POST' }, BODY)
  await request.until(() => request.body === 'abcd')
  assert.equal(await gateway.outcomes(1), ['complete'])
})

faults('closes a connection that the client keeps open after GOAWAY', async () => {
  const gateway = await stage.gateway(`frontendPolicies: { http: { headTimeout: 50ms } }\n${PAGE}`)
  const client = await stage.client(gateway)
  client.send(Buffer.concat([PREFACE, frame('settings', 0, 0)]))
  await untilGone(client.socket)
})

// The linger after a response closed the stream without an error, which waits for the last byte of the response, so
// that nothing could close it any more.
faults('resets a stream that neither ends its upload nor reads its response', async () => {
  const backend = await stage.backend([{ wait: /part/ }, { send: OK }])
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { responseIdleTimeout: 2500ms } }\n${routeTo(backend)}`,
  )
  const request = clientOf(gateway, 0).request({ ':method': 'POST' }, BODY)
  request.stream.write('part')
  assert.is(await request.closed(), constants.NGHTTP2_CANCEL)
})

faults('closes the connection of a client that does not read resets', async () => {
  const big = Buffer.alloc(16_000_000)
  const backend = await stage.backend([
    { wait: HEAD },
    { send: `HTTP/1.1 200 OK\r\ncontent-length: ${big.length}\r\n\r\n` },
    { send: big },
  ])
  const gateway = await stage.gateway(
    'frontendPolicies: { http: { responseIdleTimeout: 50ms, http1IdleTimeout: 50ms } }\n' +
      routeTo(backend),
  )
  const client = await stage.client(gateway)
  const window = Buffer.from([0, 4, 0x3f, 0xff, 0xff, 0xff])
  const head = fieldLines(
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'a'],
  )
  client.send(Buffer.concat([PREFACE, frame('settings', 0, 0, window)]))
  client.send(Buffer.concat([frame('update', 0, 0, Buffer.from([0x3f, 0, 0, 0]))]))
  client.socket.pause()
  client.send(frame('headers', END_HEADERS | END_STREAM, 1, head))
  assert.equal(await gateway.outcomes(1), ['idle'])
  await untilGone(client.socket)
})

faults.run()
