// Responses of a rate limit service, valid and invalid, as its client reads them from the wire.

import { once } from 'node:events'
import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RateLimitResult } from '../../../lib/enforce/limit/rate-limit-call.ts'
import { RateLimitService } from '../../../lib/enforce/limit/rate-limit-service.ts'
import { encodeRateLimitRequest } from '../../../lib/enforce/limit/rate-limit-messages.ts'
import { deadline } from '../../support/deadline.ts'
import { Lines } from '../../support/rls/lines.ts'
import { answer, answerOk, codeMessage, framed, RawService } from '../../support/rls/raw-service.ts'
import { splits } from '../../support/splits.ts'

const answers = suite('responses of a rate limit service')

const REQUEST = {
  domain: 'd',
  descriptors: [{ entries: [{ key: 'user', value: 'zoë' }], limit: null, hits: null }],
}
const OK = framed(codeMessage(1))

let running: { raw: RawService; service: RateLimitService } | null = null

async function start(onStream: (stream: ServerHttp2Stream) => void) {
  const raw = await RawService.start(onStream)
  const service = new RateLimitService(raw.endpoint, new Lines(), { now: () => 0 })
  running = { raw, service }
  return running
}

answers.after.each(() => {
  running?.service.close()
  running?.raw.close()
  running = null
})

/** A short text of the result. */
async function describe(pending: Promise<RateLimitResult>): Promise<string> {
  const result = await deadline(pending, 30_000, 'an answer')
  return 'kind' in result ? `${result.kind}: ${result.reason}` : result.code
}

/** The result of a call whose stream is handled this way. */
async function after(onStream: (stream: ServerHttp2Stream) => void, ms = 5_000): Promise<string> {
  const { service, raw } = await start(onStream)
  const result = await describe(service.query(REQUEST, ms).answer)
  service.close()
  raw.close()
  return result
}

answers('the request follows the gRPC protocol', async () => {
  const { raw, service } = await start(() => {})
  const heads: Record<string, unknown>[] = []
  const bodies: Buffer[] = []
  raw.onHead = (headers) => heads.push({ ...headers })
  raw.onBody = (bytes) => bodies.push(bytes)
  const query = service.query(REQUEST, 700)
  await raw.waitForCalls(1)
  await deadline(once(raw.streams[0]!, 'end'), 30_000, 'the whole request')
  answerOk(raw.streams[0]!)
  assert.is(await describe(query.answer), 'ok')
  const { host, port } = raw.endpoint
  assert.equal(heads, [
    {
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': `${host}:${port}`,
      ':path': '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': '700m',
    },
  ])
  assert.equal(Buffer.concat(bodies), framed(encodeRateLimitRequest(REQUEST)))
})

answers('are read at every split of their data', async () => {
  const cuts = [...splits(OK)]
  let at = 0
  const { service, raw } = await start((stream) => answer(stream, cuts[at++]!))
  for (const chunks of cuts)
    assert.is(await describe(service.query(REQUEST, 5_000).answer), 'ok', `${chunks[0]?.length}`)
  assert.is(raw.sockets.length, 1)
})

answers('allow or deny the request', async () => {
  assert.is(await after((stream) => answer(stream, [OK])), 'ok')
  assert.is(await after((stream) => answer(stream, [framed(codeMessage(2))])), 'over')
})

const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const

const BAD: [what: string, onStream: (stream: ServerHttp2Stream) => void, describe: string][] = [
  [
    'an error in trailers',
    (stream) => answer(stream, [OK], { 'grpc-status': '13', 'grpc-message': 'so%20bad' }),
    'invalid: gRPC status internal: so bad',
  ],
  [
    'an error without a message, in one head',
    (stream) => stream.respond({ ...HEAD, 'grpc-status': '14' }, { endStream: true }),
    'invalid: gRPC status unavailable',
  ],
  [
    'an error of no known number, with a broken text',
    (stream) =>
      stream.respond(
        { ...HEAD, 'grpc-status': '99', 'grpc-message': '%zz' + 'x'.repeat(300) },
        { endStream: true },
      ),
    `invalid: gRPC status out of range: %zz${'x'.repeat(197)}`,
  ],
  [
    'a page',
    (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/html' })
      stream.end('<html>')
    },
    'invalid: the response is not gRPC',
  ],
  [
    'another status of HTTP',
    (stream) => stream.respond({ ':status': 503, 'content-type': 'text/plain' }),
    'invalid: status 503',
  ],
  [
    'success without a message',
    (stream) => stream.respond({ ...HEAD, 'grpc-status': '0' }, { endStream: true }),
    'invalid: malformed response: no complete message',
  ],
  [
    'half a message',
    (stream) => answer(stream, [OK.subarray(0, 6)]),
    'invalid: malformed response: no complete message',
  ],
  [
    'two messages',
    (stream) => answer(stream, [OK, OK]),
    'invalid: malformed response: more than one message',
  ],
  [
    'a compressed message',
    (stream) => answer(stream, [Buffer.from('\x01\0\0\0\x02\x08\x01')]),
    'invalid: malformed response: a compressed message',
  ],
  [
    'a message that is none',
    (stream) => answer(stream, [framed(Buffer.from('08ff', 'hex'))]),
    'invalid: malformed response: a number beyond the end',
  ],
  [
    'neither yes nor no',
    (stream) => answer(stream, [framed(Buffer.alloc(0))]),
    'invalid: the response has no code',
  ],
  [
    'a message and no status',
    (stream) => {
      stream.respond(HEAD)
      stream.end(OK)
    },
    'broken: stream closed: no-error',
  ],
  [
    'a stream that is reset',
    (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    'broken: stream closed: internal-error',
  ],
]

answers('are failures with a reason when they are invalid', async () => {
  for (const [what, onStream, expected] of BAD) assert.is(await after(onStream), expected, what)
})

answers('that do not arrive in time are a timeout', async () => {
  const { raw, service } = await start(() => {})
  const query = service.query(REQUEST, 30)
  await raw.waitForCalls(1)
  const closed = once(raw.streams[0]!, 'close')
  assert.is(await describe(query.answer), 'timeout: no response in time')
  await deadline(closed, 30_000, 'the stream to close')
  assert.is(raw.streams[0]!.rstCode, constants.NGHTTP2_CANCEL)
})

answers('whose caller no longer waits are cancelled at the service', async () => {
  const { raw, service } = await start(() => {})
  const query = service.query(REQUEST, 5_000)
  await raw.waitForCalls(1)
  const closed = once(raw.streams[0]!, 'close')
  query.cancel()
  query.cancel()
  assert.is(await describe(query.answer), 'cancelled: cancelled')
  await deadline(closed, 30_000, 'the stream to close')
  assert.is(raw.streams[0]!.rstCode, constants.NGHTTP2_CANCEL)
})

answers('are requested once more when the service refused the stream', async () => {
  let refusals = 1
  const { raw, service } = await start((stream) => {
    if (refusals-- > 0) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else answerOk(stream)
  })
  assert.is(await describe(service.query(REQUEST, 5_000).answer), 'ok')
  assert.is(raw.streams.length, 2)
  refusals = 9
  assert.is(
    await describe(service.query(REQUEST, 5_000).answer),
    'refused: stream closed: refused-stream',
  )
  assert.is(raw.streams.length, 4)
})

answers.run()
