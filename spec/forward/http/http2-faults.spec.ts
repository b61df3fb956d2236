// HTTP/2 backends that reset, stall or send invalid responses.

import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Backend } from '../../support/backend.ts'
import type { Step } from '../../support/backend.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage, routeTo } from '../../support/gateway.ts'
import { answerOk, http2Backend } from '../../support/http2-backend.ts'
import type { OnStream } from '../../support/http2-backend.ts'
import {
  END_HEADERS,
  END_STREAM,
  fieldLines,
  frame,
  untilGone,
} from '../../support/http2-frames.ts'
import { CERT, KEY } from '../../support/tls-pair.ts'

const faults = suite('forward/http/http2 faults')
const stage = new Stage()
faults.after.each(() => stage.clear())

const GET = 'GET / HTTP/1.1\r\nhost: a.test\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nsome'
const INSECURE = 'backendTLS: { insecure: true }'
const backendWith = async (onStream: OnStream) => http2Backend(stage, onStream)

/** A backend that sends raw frames; the first stream is 1. */
async function rawBackend(...script: Step[]): Promise<Backend> {
  const tls = { cert: CERT, key: KEY, ALPNProtocols: ['h2'] }
  const greeting: Step = { send: frame('settings', 0, 0) }
  return stage.add(await Backend.startAt({ tls }, [greeting, ...script]))
}

function closeOf(stream: ServerHttp2Stream): Promise<number> {
  const closed = new Promise<number>((resolve) =>
    stream.once('close', () => resolve(stream.rstCode ?? 0)),
  )
  return deadline(closed, 30_000, 'a stream to close')
}

// The complete response and the reset arrive in one read: the end is known but not yet read.
faults(
  'accepts a complete response whose stream is reset without an error after its end',
  async () => {
    const part = Buffer.alloc(16_000, 'x')
    const backend = await rawBackend(
      { wait: /some/ },
      {
        send: Buffer.concat([
          frame('headers', END_HEADERS, 1, fieldLines([':status', '413'])),
          frame('data', 0, 1, part),
          frame('data', END_STREAM, 1, part),
          frame('reset', 0, 1, Buffer.alloc(4)),
        ]),
      },
    )
    const gateway = await stage.gateway(routeTo(backend, INSECURE))
    const client = await stage.client(gateway)
    client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nsome')
    await client.until(/x\r\n0\r\n\r\n$/)
    assert.equal(await gateway.outcomes(1), ['complete'])
  },
)

faults('cuts a response whose stream is reset without an error before its end', async () => {
  const backend = await rawBackend(
    { wait: /some/ },
    {
      send: Buffer.concat([
        frame('headers', END_HEADERS, 1, fieldLines([':status', '413'])),
        frame('data', 0, 1, Buffer.alloc(16_000, 'x')),
        frame('reset', 0, 1, Buffer.alloc(4)),
      ]),
    },
  )
  const gateway = await stage.gateway(routeTo(backend, INSECURE))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nsome')
  assert.not.match(await client.untilClosed(), /\r\n0\r\n\r\n/)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

for (const [what, answer] of [
  ['a response', answerOk],
  [
    'a response without a body',
    (stream: ServerHttp2Stream) => stream.respond({ ':status': 401 }, { endStream: true }),
  ],
] as const)
  faults(`resets the stream of ${what} that arrives before the request is complete`, async () => {
    const codes: Promise<number>[] = []
    const { port } = await backendWith((stream, headers) => {
      codes.push(closeOf(stream.resume()))
      answer(stream, headers)
    })
    const gateway = await stage.gateway(routeTo({ port }, INSECURE))
    const client = await stage.client(gateway)
    client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nsome')
    await client.until(/HTTP\/1.1 [24][^]*\r\n\r\n/)
    assert.equal(await Promise.all(codes), [constants.NGHTTP2_CANCEL])
    assert.equal(await gateway.outcomes(1), ['complete'])
  })

faults('does not reset a stream whose request is complete', async () => {
  const codes: Promise<number>[] = []
  const { port } = await backendWith((stream, headers) => {
    codes.push(closeOf(stream))
    stream.resume().on('end', () => answerOk(stream, headers))
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(POST)
  await client.until(/ok[^]*ok$/)
  assert.equal(await Promise.all(codes), [0, 0])
})

faults('answers 504 when the backend does not read the request', async () => {
  const { port } = await backendWith((stream) => stream.pause())
  const gateway = await stage.gateway(
    `config: { backend: { bodyIdleTimeout: 50ms } }\n${routeTo({ port }, INSECURE)}`,
  )
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n')
  client.send(Buffer.alloc(300_000))
  await client.until(/504 Gateway Timeout[^]*upstream call timeout$/)
  assert.equal(await gateway.outcomes(1), ['backend_timeout'])
})

faults(
  'waits for the response to a request that was read while other requests time out',
  async () => {
    let answer = (): void => {}
    let markRead = (): void => {}
    const taken = new Promise<void>((resolve) => (markRead = resolve))
    const { port } = await backendWith((stream, headers) => {
      if (headers[':path'] === '/stuck') return void stream.pause()
      answer = () => answerOk(stream, headers)
      stream.resume().on('end', markRead)
    })
    const gateway = await stage.gateway(
      `config: { backend: { bodyIdleTimeout: 50ms } }\n${routeTo({ port }, INSECURE)}`,
    )
    const client = await stage.client(gateway)
    client.send(POST)
    await deadline(taken, 30_000, 'the backend to have the request')
    const other = await stage.client(gateway)
    other.send('POST /stuck HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n')
    other.send(Buffer.alloc(300_000))
    await other.until(/504 Gateway Timeout[^]*upstream call timeout$/)
    answer()
    assert.match(await client.until(/\r\n\r\n[^]+$/), /^HTTP\/1\.1 200 OK[^]*ok$/)
  },
)

faults('still times out a response on a session that received GOAWAY', async () => {
  const { port } = await backendWith((stream) => {
    stream.respond({ ':status': 200 })
    stream.write('some')
    stream.session!.goaway()
  })
  const gateway = await stage.gateway(
    `config: { backend: { bodyIdleTimeout: 50ms } }\n${routeTo({ port }, INSECURE)}`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.untilClosed()
  assert.equal(await gateway.outcomes(1), ['backend_timeout'])
})

/** GOAWAY with the id of the last stream that the backend may have processed. */
function goaway(lastStream: number, code: number): Buffer {
  const payload = Buffer.alloc(8)
  payload.writeUInt32BE(lastStream, 0)
  payload.writeUInt32BE(code, 4)
  return frame('goaway', 0, 0, payload)
}

// RFC 9113 6.8: streams above the last id were not processed; those up to it may have been.
for (const code of [constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_INTERNAL_ERROR])
  faults(`sends a POST above the last stream of a GOAWAY again, code ${code}`, async () => {
    const tls = { cert: CERT, key: KEY, ALPNProtocols: ['h2'] }
    const greeting: Step = { send: frame('settings', 0, 0) }
    const answer = frame('headers', END_HEADERS | END_STREAM, 1, fieldLines([':status', '204']))
    const backend = stage.add(
      await Backend.startAt(
        { tls },
        [greeting, { wait: /one/ }, { wait: /two/ }, { send: goaway(1, code) }, { close: true }],
        [greeting, { wait: /two/ }, { send: answer }],
      ),
    )
    const gateway = await stage.gateway(routeTo(backend, INSECURE))
    const [first, second] = [await stage.client(gateway), await stage.client(gateway)]
    first.send('POST /1 HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\none')
    await backend.until((text) => text.includes('one'))
    second.send('POST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\ntwo')
    await second.until(/204 No Content[^]*\r\n\r\n$/)
    await first.until(/503 Service Unavailable[^]*upstream call failed: /)
    assert.is(backend.received.split('one').length - 1, 1)
  })

faults('does not send a request again whose stream was reset after it was processed', async () => {
  let count = 0
  const { port } = await backendWith((stream, headers) => {
    if (++count === 1) return answerOk(stream, headers)
    stream.resume().on('end', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  client.send(POST)
  await client.until(/503 Service Unavailable/)
  assert.is(count, 2)
})

faults('closes the socket if the backend does not, after GOAWAY was sent', async () => {
  const answer = frame('headers', END_HEADERS | END_STREAM, 1, fieldLines([':status', '204']))
  const backend = await rawBackend({ wait: /some/ }, { send: answer }, { hold: true })
  const gateway = await stage.gateway(
    `config: { backend: { poolIdleTimeout: 50ms } }\n${routeTo(backend, INSECURE)}`,
  )
  const client = await stage.client(gateway)
  client.send(POST)
  await client.until(/204 No Content[^]*\r\n\r\n$/)
  await untilGone(backend.connections[0]!.socket)
})

for (const [what, onStream, why] of [
  [
    'a content-length that some parsers reject',
    (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200, 'content-length': '0000000000000002' })
      stream.end('ok')
    },
    'content-length out of range',
  ],
  [
    'more interim responses than allowed',
    (stream: ServerHttp2Stream) => {
      for (let i = 0; i < 17; i++) stream.additionalHeaders({ ':status': 103 })
      stream.end()
    },
    'too many interim responses',
  ],
] as const)
  faults(`answers 503 for ${what}`, async () => {
    const { port } = await backendWith(onStream)
    const gateway = await stage.gateway(routeTo({ port }, INSECURE))
    const client = await stage.client(gateway)
    client.send(GET)
    assert.match(await client.until(/503 Service Unavailable[^]*upstream call failed: .+$/), why)
    const [line] = await gateway.logged(1)
    assert.is(line!['reason'], 'BACKEND_INVALID')
  })

for (const status of ['101', '600', '999'])
  faults(`answers 503 for the status ${status}`, async () => {
    const head = frame('headers', END_HEADERS, 1, fieldLines([':status', status]))
    const backend = await rawBackend({ wait: /some/ }, { send: head })
    const gateway = await stage.gateway(routeTo(backend, INSECURE))
    const client = await stage.client(gateway)
    client.send(POST)
    assert.match(await client.until(/\r\n\r\n.+$/), /^HTTP\/1\.1 503 /)
  })

faults('forwards an interim response once', async () => {
  const { port } = await backendWith((stream, headers) => {
    stream.additionalHeaders({ ':status': 100 })
    answerOk(stream, headers)
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is((await client.until(/ok$/)).split('100 Continue').length, 2)
})

faults('cuts a response with a forbidden trailer', async () => {
  const { port } = await backendWith((stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'content-length': '2' }))
    stream.end('ok')
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.not.match(await client.untilClosed(), /\r\n0\r\n/)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

faults('forwards fields with the names of members of Object.prototype', async () => {
  const seen: unknown[] = []
  const { port } = await backendWith((stream, headers) => {
    seen.push(headers['constructor'], headers['__proto__'])
    answerOk(stream, headers)
  })
  const gateway = await stage.gateway(routeTo({ port }, INSECURE))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconstructor: b\r\n__proto__: c\r\n\r\n')
  await client.until(/ok$/)
  assert.equal(seen, ['b', 'c'])
})

faults.run()
