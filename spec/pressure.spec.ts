// What happens when the process holds as much for requests as it may, and that all it held is given back.

import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatMetrics } from '../lib/admin/prometheus-text.ts'
import { bytesInFlight } from '../lib/core/byte-budgets.ts'
import { ask } from './support/ask.ts'
import { deadline } from './support/deadline.ts'
import { Stage } from './support/gateway.ts'
import type { RunningGateway } from './support/gateway.ts'
import { Http2Client } from './support/http2-client.ts'
import { readMetrics, valueOf } from './support/prometheus.ts'
import type { RawClient } from './support/raw-client.ts'

const pressure = suite('pressure')
const stage = new Stage()

/** Whatever happens, all that was held is given back. */
function holding(name: string, act: () => Promise<void>): void {
  pressure(name, async () => {
    try {
      await act()
    } finally {
      await stage.clear()
    }
    await until(() => bytesInFlight.total === 0, 'all of it to be given back')
  })
}

const HEAD = /\r\n\r\n/
const MOST = 65_536
const BIG = 30_000_000
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const WORDS = `too many bytes in flight: at most ${MOST} (config.maxBytesInFlight): try again later`

async function until(fits: () => boolean, what: string): Promise<void> {
  const by = performance.now() + 30_000
  while (!fits()) {
    assert.ok(
      performance.now() < by,
      `waited in vain for ${what}: ${JSON.stringify(bytesInFlight)}`,
    )
    await deadline(new Promise((resolve) => setImmediate(resolve)), 5000, what)
  }
}

/** One whose answers nobody could take at once. */
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

/** Asks for much, and takes nothing of it. */
async function slowReader(gateway: RunningGateway): Promise<RawClient> {
  const client = await stage.client(gateway)
  client.socket.pause()
  client.send(GET)
  await until(() => bytesInFlight.unsent >= MOST, 'the answer to pile up')
  return client
}

holding('new requests get 503 while those under way go on, and later all are taken', async () => {
  const gateway = await start()
  assert.is((await ask(gateway, 'GET /small HTTP/1.1')).status, 200)
  const slow = await slowReader(gateway)
  const refused = await ask(gateway, 'GET /small HTTP/1.1')
  assert.equal([refused.status, refused.headers['retry-after'], refused.body], [503, '1', WORDS])
  const samples = readMetrics(formatMetrics(gateway.measures))
  assert.is(valueOf(samples, 'gateway_refused_total', { limit: 'maxBytesInFlight' }), 1)
  assert.is(valueOf(samples, 'gateway_buffered_bytes', { what: 'unsent' }), bytesInFlight.unsent)
  const [told] = gateway.lines.filter(({ message }) => message === 'limit reached')
  assert.equal([told!['limit'], told!['most']], ['maxBytesInFlight', MOST])
  let read = 0
  slow.socket.on('data', ({ length }) => (read += length))
  slow.socket.resume()
  await until(() => read > BIG, 'the rest of the answer')
  assert.is(bytesInFlight.total, 0)
  assert.is((await ask(gateway, 'GET /small HTTP/1.1')).status, 200)
  assert.equal((await gateway.logged(4)).map((line) => line['reason']).filter(Boolean), [
    'OVERLOADED',
  ])
})

holding('each hears it in words of its protocol', async () => {
  const gateway = await start()
  await slowReader(gateway)
  const openai = await ask(gateway, 'POST /v1/chat/completions HTTP/1.1')
  assert.is(openai.status, 503)
  assert.equal(JSON.parse(openai.body), {
    error: { message: WORDS, type: 'server_error', param: null, code: 'overloaded' },
  })
  const anthropic = await ask(gateway, 'POST /v1/messages HTTP/1.1')
  assert.equal([anthropic.status, anthropic.headers['retry-after']], [503, '1'])
  const told = { type: 'overloaded_error', message: WORDS }
  assert.equal(JSON.parse(anthropic.body), { type: 'error', error: told })
  const rpc = await ask(gateway, 'POST /mcp HTTP/1.1')
  assert.is(rpc.status, 503)
  const error = { code: -32603, message: WORDS }
  assert.equal(JSON.parse(rpc.body), { jsonrpc: '2.0', id: null, error })
})

holding('a slow reader that leaves gives back what waited for it', async () => {
  const gateway = await start()
  const slow = await slowReader(gateway)
  slow.destroy()
  await until(() => bytesInFlight.total === 0, 'the bytes to be given back')
  assert.is((await ask(gateway, 'GET /small HTTP/1.1')).status, 200)
})

holding('counts what a stream of HTTP/2 does not take', async () => {
  const gateway = await start()
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const request = client.request({})
  request.stream.pause()
  await until(() => bytesInFlight.unsent > 0, 'the answer to pile up')
  request.stream.close(constants.NGHTTP2_CANCEL)
  await until(() => bytesInFlight.total === 0, 'the bytes to be given back')
})

holding('counts what was read of bodies that nobody takes yet', async () => {
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
  await until(() => bytesInFlight.unread === 15_000, 'the stream to be looked at')
  second.destroy()
  third.stream.close(constants.NGHTTP2_CANCEL)
  await until(() => bytesInFlight.total === 0, 'the bytes to be given back')
})

pressure.run()
