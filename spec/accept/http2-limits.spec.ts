import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { END_HEADERS, END_STREAM, PREFACE, fieldLines, frame } from '../support/http2-frames.ts'

const limits = suite('accept/http2 limits')
const stage = new Stage()
limits.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HELD: Step[] = [{ wait: HEAD }, { hold: true }, { send: OK }]

function clientOf(gateway: RunningGateway, initialWindowSize = 65_535): Http2Client {
  const settings = { initialWindowSize }
  return stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`, { settings }))
}

limits('keeps the trailers of a request that waits for a connection', async () => {
  const backend = await stage.backend([...HELD, { wait: /0\r\nx-sum: 3\r\n\r\n/ }, { send: OK }])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend)}`,
  )
  const client = clientOf(gateway)
  const first = client.request({})
  await backend.until((text) => HEAD.test(text))
  const second = client.request({ ':method': 'POST' }, { endStream: false, waitForTrailers: true })
  second.stream.on('wantTrailers', () => second.stream.sendTrailers({ 'x-sum': '3' }))
  second.stream.end('abc')
  // Answered after the second one on the same connection, so both have been read.
  const third = client.request({ ':path': '/a#b' })
  await third.until(() => third.status === 400)
  backend.release()
  await first.closed()
  await second.closed()
  assert.match(backend.received, /3\r\nabc\r\n0\r\nx-sum: 3\r\n\r\n$/)
})

limits('cancels a request that waits for a connection when its stream is reset', async () => {
  const backend = await stage.backend([...HELD, ...HELD])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend)}`,
  )
  const client = clientOf(gateway)
  const first = client.request({})
  await backend.until((text) => HEAD.test(text))
  const second = client.request({ ':path': '/2' })
  second.stream.close(constants.NGHTTP2_CANCEL)
  const [line] = await gateway.logged(1)
  assert.is(line!['outcome'], 'client_closed')
  backend.release()
  await first.closed()
  assert.not.match(backend.received, '/2')
})

limits('answers 408 to a body that stalls', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { bodyIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const request = clientOf(gateway).request({ ':method': 'POST' }, { endStream: false })
  request.stream.write('some')
  await request.until(() => request.body === 'request body timeout')
  assert.is(request.status, 408)
  assert.equal(await gateway.outcomes(1), ['idle'])
})

limits('cuts a response that the client does not read', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n' },
    { send: Buffer.alloc(5_000_000) },
  ])
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { responseIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const request = clientOf(gateway, 0).request({})
  assert.is(await request.closed(), constants.NGHTTP2_INTERNAL_ERROR)
  assert.equal(await gateway.outcomes(1), ['idle'])
  await backend.connections[0]!.untilClosed()
})

limits('resets a stream whose last bytes the client does not read', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }])
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { responseIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const request = clientOf(gateway, 0).request({})
  assert.is(await request.closed(), constants.NGHTTP2_CANCEL)
})

limits('answers early, and ends the upload that continues after the response', async () => {
  const backend = await stage.backend([
    { wait: /part/ },
    { send: 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno' },
  ])
  const gateway = await stage.gateway(
    `frontendPolicies: { http: { bodyIdleTimeout: 50ms } }\n${routeTo(backend)}`,
  )
  const request = clientOf(gateway).request({ ':method': 'POST' }, { endStream: false })
  request.stream.write('part')
  await request.until(() => request.body === 'no')
  assert.equal(await gateway.outcomes(1), ['complete'])
  assert.is(await request.closed(), constants.NGHTTP2_NO_ERROR)
})

limits('closes a connection without streams after the idle timeout', async () => {
  const gateway = await stage.gateway(
    'frontendPolicies: { http: { http1IdleTimeout: 50ms } }\n' +
      'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]',
  )
  const client = clientOf(gateway)
  assert.is((await client.get('/')).body, 'hi')
  await client.closed()
})

limits('reads a bounded part of an upload while the backend does not read', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const request = clientOf(gateway).request({ ':method': 'POST' }, { endStream: false })
  await backend.until((text) => HEAD.test(text))
  backend.connections[0]!.socket.pause()
  const part = Buffer.alloc(65_536)
  let taken = 0
  // The socket buffers between the gateway and the backend, and the windows, hold some megabytes.
  const maxBytes = 40 * 1024 * 1024
  const write = (): void => {
    request.stream.write(part, () => {
      taken += part.length
      if (taken < maxBytes) write()
    })
  }
  write()
  let seen = -1
  for (let still = 0; still < 50; still++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (taken !== seen) still = 0
    seen = taken
  }
  assert.ok(taken < maxBytes / 2, `${taken} bytes taken`)
})

limits('closes the connection of a client that opens and resets streams without end', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  const head = fieldLines(
    [':method', 'GET'],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', '/'],
  )
  const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])
  const pairs = [PREFACE, frame('settings', 0, 0)]
  for (let id = 1; id < 2400; id += 2)
    pairs.push(frame('headers', END_STREAM | END_HEADERS, id, head), frame('reset', 0, id, cancel))
  client.send(Buffer.concat(pairs))
  await client.untilClosed()
})

limits('answers 431 to a head with too many fields, and resets one with many more', async () => {
  const gateway = await stage.gateway(
    'frontendPolicies: { http: { http1MaxHeaders: 10 } }\n' + routeTo({ port: 1 }),
  )
  const client = clientOf(gateway)
  const fields = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_none, at) => [`x-${at}`, 'y']))
  const some = client.request(fields(11))
  await some.closed()
  assert.is(some.status, 431)
  assert.match(some.body, 'or 10 fields (frontendPolicies.http.http1MaxHeaders)')
  const refused = gateway.measures.find(({ name }) => name === 'refused_total')
  const counted = [...refused!.series].find(([{ limit }]) => limit === 'http1MaxHeaders')
  assert.is(counted?.[1], 1)
  const many = client.request(fields(30))
  await many.closed()
  assert.equal([many.status, many.stream.rstCode], [0, constants.NGHTTP2_ENHANCE_YOUR_CALM])
})

limits.run()
