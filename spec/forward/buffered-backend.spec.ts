// The `buffer` policy against scripted backends: when the backend gets a request, and which bytes are counted.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../lib/core/byte-budgets.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const buffer = suite('forward/buffered backend')
const stage = new Stage()
let retained = 0
buffer.before.each(() => {
  retained = bytesInFlight.retained
})
buffer.after.each(async () => {
  await stage.clear()
  assert.is(bytesInFlight.retained, retained, 'no bytes are counted when no request is left')
})

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const POLICY = 'buffer: { request: { maxBytes: 1000 } }'
const POST = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\n'

buffer('connects to the backend only when the request is complete', async () => {
  const backend = await stage.backend([{ wait: /slow/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend, POLICY))
  const client = await stage.client(gateway)
  client.send(`${POST}very`)
  await until('the bytes to be counted', () => bytesInFlight.retained === retained + 4)
  assert.is(backend.connections.length, 0)
  client.send('slow')
  await client.until(/ok$/)
  assert.is(backend.received, `${POST}veryslow`)
})

buffer('forgets the body of a client that leaves during its upload or in the queue', async () => {
  const backend = await stage.backend([{ wait: /slow/ }, { hold: true }])
  const gateway = await stage.gateway(
    `config: { backend: { poolMaxSize: 1 } }\n${routeTo(backend, POLICY)}`,
  )
  const first = await stage.client(gateway)
  first.send(`${POST}veryslow`)
  await backend.until((text) => text.endsWith('veryslow'))
  const waiting = await stage.client(gateway)
  waiting.send(`${POST}veryslow`)
  await until('the queued body to be counted', () => bytesInFlight.retained === retained + 8)
  waiting.destroy()
  await until('the queued body to be forgotten', () => bytesInFlight.retained === retained)
  const uploading = await stage.client(gateway)
  uploading.send(`${POST}very`)
  await until('the upload to be counted', () => bytesInFlight.retained === retained + 4)
  uploading.destroy()
  await until('the upload to be forgotten', () => bytesInFlight.retained === retained)
})

buffer('answers expect: 100-continue itself', async () => {
  const backend = await stage.backend([{ wait: /slow/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend, POLICY))
  const client = await stage.client(gateway)
  client.send(POST.replace('host: a', 'host: a\r\nexpect: 100-continue'))
  await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  client.send('veryslow')
  await client.until(/ok$/)
  assert.not.match(backend.received, /expect/)
})

buffer(
  'reads the body of grpc-web, but not of gRPC, whose messages may depend on responses',
  async () => {
    const backend = await stage.backend([{ wait: /slow/ }, { send: OK }], [{ wait: /slow/ }])
    const gateway = await stage.gateway(routeTo(backend, POLICY))
    const postOf = (type: string): string =>
      POST.replace('host: a', `host: a\r\ncontent-type: application/${type}`)
    const web = await stage.client(gateway)
    web.send(`${postOf('grpc-web+proto')}very`)
    await until('the bytes to be counted', () => bytesInFlight.retained === retained + 4)
    assert.is(backend.connections.length, 0)
    web.send('slow')
    await web.until(/ok$/)
    const grpc = await stage.client(gateway)
    grpc.send(`${postOf('grpc+proto')}very`)
    await backend.until((text) => text.endsWith('very'))
  },
)

buffer('works with retry', async () => {
  const backend = await stage.backend(
    [{ wait: /slow/ }, { reset: true }],
    [{ wait: /slow/ }, { send: OK }],
  )
  const gateway = await stage.gateway(routeTo(backend, `${POLICY}, retry: { attempts: 1 }`))
  const client = await stage.client(gateway)
  client.send(`${POST}veryslow`)
  await client.until(/ok$/)
  assert.match(backend.connections[1]!.received, /content-length: 8\r\n[^]*veryslow$/)
})

buffer.run()
