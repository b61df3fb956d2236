// Requests to HTTP/2 backends: streams on one session, bodies, trailers and resets.

import { constants } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { Stage, routeTo } from '../../support/gateway.ts'
import { answerOk, http2Backend } from '../../support/http2-backend.ts'
import type { OnStream } from '../../support/http2-backend.ts'

const http2 = suite('forward/http/http2')
const stage = new Stage()
http2.after.each(() => stage.clear())

const GET = 'GET / HTTP/1.1\r\nhost: a.test\r\n\r\n'
const INSECURE = 'backendTLS: { insecure: true }'

const backendWith = async (onStream: OnStream) => http2Backend(stage, onStream)

http2('sends requests on one session, with the authority of the client', async () => {
  const heads: IncomingHttpHeaders[] = []
  const { port, sockets } = await backendWith((stream, headers) => {
    heads.push(headers)
    answerOk(stream, headers)
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send('GET /1?a HTTP/1.1\r\nhost: a.test\r\nx-b: c\r\nconnection: x-d\r\nx-d: e\r\n\r\n')
  assert.is(
    await client.until(/ok$/),
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n' + dateOf(client.text) + '\r\nok',
  )
  client.send(GET)
  await client.until(/ok[^]*ok$/)
  assert.is(sockets.length, 1)
  const { ':path': path, ':authority': authority, ':scheme': scheme } = heads[0]!
  assert.equal([path, authority, scheme], ['/1?a', 'a.test', 'https'])
  assert.equal([heads[0]!['x-b'], heads[0]!['x-d'], heads[0]!.host], ['c', undefined, undefined])
})

function dateOf(text: string): string {
  return /date: [^\r]+\r\n/.exec(text)?.[0] ?? ''
}

http2('forwards body and trailers in both directions', async () => {
  const { port } = await backendWith((stream) => {
    let body = ''
    let sum = ''
    stream.on('data', (bytes: Buffer) => (body += bytes.toString()))
    stream.on('trailers', (trailers) => (sum = String(trailers['x-sum'])))
    stream.on('end', () => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-got': sum }))
      stream.end(body.toUpperCase())
    })
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
  client.send('3\r\nabc\r\n2\r\nde\r\n0\r\nx-sum: 5\r\n\r\n')
  const text = await client.until(/0\r\n[^]*\r\n\r\n$/)
  assert.match(text, /transfer-encoding: chunked\r\n\r\n5\r\nABCDE\r\n0\r\nx-got: 5\r\n\r\n$/)
})

http2('continues a body when the backend reads more of it', async () => {
  const { port } = await backendWith((stream) => {
    stream.respond({ ':status': 200 })
    stream.pipe(stream)
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.0\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n')
  client.send(Buffer.alloc(1_000_000, 'x'))
  await client.untilClosed()
  assert.is(client.text.slice(client.text.indexOf('\r\n\r\n') + 4).length, 1_000_000)
})

http2('forwards interim responses and responses without a body', async () => {
  const { port } = await backendWith((stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a>' })
    stream.respond({ ':status': 204 }, { endStream: true })
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  const text = await client.until(/204 No Content[^]*\r\n\r\n$/)
  assert.match(
    text,
    /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/a>\r\n\r\nHTTP\/1\.1 204 No Content\r\n/,
  )
})

http2('sends queued requests on the session once it is open', async () => {
  const { port, sockets } = await backendWith(answerOk)
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo({ port }, INSECURE)}`,
  )
  const clients = await Promise.all([1, 2, 3, 4].map(() => stage.client(gateway)))
  for (const client of clients) client.send(GET)
  for (const client of clients) await client.until(/ok$/)
  assert.is(sockets.length, 1)
})

http2('accepts a repeated field that HTTP/2 allows only once', async () => {
  const { port } = await backendWith(answerOk)
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nuser-agent: x\r\nuser-agent: y\r\n\r\n')
  await client.until(/ok$/)
})

http2('resets the stream when the client closes the connection', async () => {
  const codes: (number | undefined)[] = []
  let closed = (): void => {}
  const over = new Promise<void>((resolve) => (closed = resolve))
  const { port } = await backendWith((stream) => {
    stream.respond({ ':status': 200 })
    stream.write('some')
    stream.on('close', () => {
      codes.push(stream.rstCode)
      closed()
    })
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/some/)
  client.destroy()
  await deadline(over, 30_000, 'the stream to close')
  assert.equal(codes, [constants.NGHTTP2_CANCEL])
  assert.equal(await gateway.outcomes(1), ['client_closed'])
})

for (const [how, cut] of [
  [
    'resets its stream',
    (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  ],
  ['destroys its session', (stream: ServerHttp2Stream) => stream.session!.destroy()],
] as const)
  http2(`cuts the client when the backend ${how} in the middle of a body`, async () => {
    const streams: ServerHttp2Stream[] = []
    const { port } = await backendWith((stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      stream.write('some')
      streams.push(stream)
    })
    const gateway = await stage.gateway(routeTo({ port }, INSECURE))
    const client = await stage.client(gateway)
    client.send(GET)
    await client.until(/some/)
    cut(streams[0]!)
    assert.match(await client.untilClosed(), /4\r\nsome\r\n$/)
    assert.equal(await gateway.outcomes(1), ['backend_reset'])
  })

http2('answers 503 when the backend refuses the stream', async () => {
  const { port } = await backendWith((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM))
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/503 Service Unavailable[^]*upstream call failed: stream refused$/)
})

http2('opens another session after a GOAWAY', async () => {
  let served = 0
  const { port, sockets } = await backendWith((stream, headers) => {
    if (served++ === 0) stream.session!.goaway()
    answerOk(stream, headers)
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(GET)
  await client.until(/ok[^]*ok$/)
  assert.is(sockets.length, 2)
})

http2.run()
