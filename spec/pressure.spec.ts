// The process-wide limit of buffered bytes: new requests are refused at the limit, and every buffered byte is released.

import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatMetrics } from '../lib/admin/prometheus-text.ts'
import { bytesInFlight } from '../lib/core/byte-budgets.ts'
import { ask } from './support/ask.ts'
import { Stage } from './support/gateway.ts'
import type { RunningGateway } from './support/gateway.ts'
import { Http2Client } from './support/http2-client.ts'
import { readMetrics, valueOf } from './support/prometheus.ts'
import type { RawClient } from './support/raw-client.ts'

const pressure = suite('pressure')
const stage = new Stage()

/** A test that fails when a byte is still counted after it. */
function holding(name: string, act: () => Promise<void>): void {
  pressure(name, async () => {
    try {
      await act()
    } finally {
      await stage.clear()
    }
    await until(() => bytesInFlight.total === 0, 'all bytes to be released')
  })
}

const HEAD = /\r\n\r\n/
/** Far less than one read of the backend: the socket may have taken the larger part of the last one. */
const MOST = 4_096
const BIG = 30_000_000
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const WORDS = `too many bytes in flight: at most ${MOST} (config.maxBytesInFlight): try again later`

async function until(fits: () => boolean, what: string): Promise<void> {
  const by = performance.now() + 30_000
  while (!fits()) {
    assert.ok(
      performance.now() < by,
      `timed out waiting for ${what}: ${JSON.stringify(bytesInFlight)}`,
    )
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** A gateway whose backend sends more than a socket takes at once. */
async function start(): Promise<RunningGateway> {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: `HTTP/1.1 200 OK\r\ncontent-length: ${BIG}\r\n\r\n` },
    { send: Buffer.alloc(BIG, 120) },
  ])
  const llm = '{ ai: { name: mock, provider: { mock: {} } } }'
  const mcp = '{ mcp: { targets: [{ name: one, stdio: { cmd: cat } }] } }'
  return stage.gateway(`config: { maxBytesInFlight: ${MOST} }
routes:
  - { matches: [{ path: { pathPrefix: /v1 } }], backends: [${llm}] }
  - { matches: [{ path: { exact: /mcp } }], backends: [${mcp}] }
  - { matches: [{ path: { exact: /small } }], policies: { directResponse: { status: 200, body: ok } } }
  - { backends: [{ host: 127.0.0.1:${backend.port} }] }
`)
}

/** A client that requests a large response and reads nothing of it. */
async function slowReader(gateway: RunningGateway): Promise<RawClient> {
  const client = await stage.client(gateway)
  client.socket.pause()
  client.send(GET)
  await until(() => bytesInFlight.unsent >= MOST, 'unsent bytes')
  return client
}

holding(
  'new requests get 503 while requests in progress continue, and are accepted again later',
  async () => {
    const gateway = await start()
    assert.is((await ask(gateway, 'GET /small HTTP/1.1')).status, 200)
    const slow = await slowReader(gateway)
    const refused = await ask(gateway, 'GET /small HTTP/1.1')
    assert.equal([refused.status, refused.headers['retry-after'], refused.body], [503, '1', WORDS])
    const samples = readMetrics(formatMetrics(gateway.measures))
    assert.is(valueOf(samples, 'gateway_refused_total', { limit: 'maxBytesInFlight' }), 1)
    assert.is(valueOf(samples, 'gateway_buffered_bytes', { what: 'unsent' }), bytesInFlight.unsent)
    const [line] = gateway.lines.filter(({ message }) => message === 'limit reached')
    assert.equal([line!['limit'], line!['most']], ['maxBytesInFlight', MOST])
    let read = 0
    slow.socket.on('data', ({ length }) => (read += length))
    slow.socket.resume()
    await until(() => read > BIG, 'the rest of the answer')
    assert.is(bytesInFlight.total, 0)
    assert.is((await ask(gateway, 'GET /small HTTP/1.1')).status, 200)
    assert.equal((await gateway.logged(4)).map((line) => line['reason']).filter(Boolean), [
      'OVERLOADED',
    ])
  },
)

holding('the refusal has the format of each protocol', async () => {
  const gateway = await start()
  await slowReader(gateway)
  const openai = await ask(gateway, 'POST /v1/chat/completions HTTP/1.1')
  assert.is(openai.status, 503)
  assert.equal(JSON.parse(openai.body), {
    error: { message: WORDS, type: 'server_error', param: null, code: 'overloaded' },
  })
  const anthropic = await ask(gateway, 'POST /v1/messages HTTP/1.1')
  assert.equal([anthropic.status, anthropic.headers['retry-after']], [503, '1'])
  const expected = { type: 'overloaded_error', message: WORDS }
  assert.equal(JSON.parse(anthropic.body), { type: 'error', error: expected })
  const rpc = await ask(gateway, 'POST /mcp HTTP/1.1')
  assert.is(rpc.status, 503)
  const error = { code: -32603, message: WORDS }
  assert.equal(JSON.parse(rpc.body), { jsonrpc: '2.0', id: null, error })
})

holding('the bytes of a slow reader are released when it disconnects', async () => {
  const gateway = await start()
  const slow = await slowReader(gateway)
  slow.destroy()
  await until(() => bytesInFlight.total === 0, 'the bytes to be released')
  assert.is((await ask(gateway, 'GET /small HTTP/1.1')).status, 200)
})

holding('counts bytes that an HTTP/2 stream does not read', async () => {
  const gateway = await start()
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const request = client.request({})
  request.stream.pause()
  await until(() => bytesInFlight.unsent > 0, 'unsent bytes')
  request.stream.close(constants.NGHTTP2_CANCEL)
  await until(() => bytesInFlight.total === 0, 'the bytes to be released')
})

holding('counts request bodies that were read before a backend is free', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\nfrontendPolicies: { http: { headTimeout: 100ms } }\n` +
      `routes: [{ backends: [{ host: 127.0.0.1:${backend.port} }] }]`,
  )
  const first = await stage.client(gateway)
  first.send(GET)
  await backend.until((text) => HEAD.test(text))
  const second = await stage.client(gateway)
  second.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10000\r\n\r\n${'x'.repeat(10_000)}`)
  await until(() => bytesInFlight.unread === 10_000, 'the body to be read')
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const third = client.request({ ':method': 'POST' }, { endStream: false })
  third.stream.write(Buffer.alloc(5_000))
  await until(() => bytesInFlight.unread === 15_000, 'the stream to be read')
  second.destroy()
  third.stream.close(constants.NGHTTP2_CANCEL)
  await until(() => bytesInFlight.total === 0, 'the bytes to be released')
})

pressure.run()
