import { once } from 'node:events'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { PemFiles } from '../support/pem-files.ts'

const tls = suite('accept/tls')
const stage = new Stage()
tls.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const SERVE: Step[] = [
  { wait: HEAD },
  { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
  { again: true },
]

/** Two host names and a listener for any other name on one port. */
async function secureGateway(more = ''): Promise<RunningGateway> {
  const backend = await stage.backend(SERVE)
  const pem = stage.add(new PemFiles())
  const one = `{ cert: ${pem.cert}, key: ${pem.key} }`
  const other = `{ cert: ${pem.otherCert}, key: ${pem.otherKey} }`
  return stage.gateway(`${more}
gateways:
  default:
    port: \${PORT}
    address: 127.0.0.1
    listeners:
      - { name: any, tls: ${one} }
      - { name: test, hostname: '*.example.test', tls: ${other} }
      - { name: exact, hostname: a.example.test, tls: ${one} }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${backend.port} }] }]
`)
}

async function dial(gateway: RunningGateway, options: ConnectionOptions): Promise<TLSSocket> {
  const { port } = gateway
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  socket.on('error', () => {})
  stage.add({ close: () => socket.destroy() })
  await deadline(once(socket, 'secureConnect'), 30_000, 'a TLS handshake')
  return socket
}

/** The received text, once `fits` accepts it. */
async function textUntil(socket: TLSSocket, fits: (text: string) => boolean): Promise<string> {
  let text = ''
  const arrived = new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (fits(text)) resolve()
    })
  })
  await deadline(arrived, 30_000, 'an answer by TLS')
  socket.removeAllListeners('data')
  return text
}

const isOk = (text: string): boolean => text.endsWith('ok')

tls('uses the certificate of the requested server name', async () => {
  const gateway = await secureGateway()
  const names: Record<string, string> = {
    'a.example.test': 'localhost',
    'b.example.test': 'example.test',
    'B.Example.TEST': 'example.test',
    'elsewhere.test': 'localhost',
  }
  for (const [servername, subject] of Object.entries(names)) {
    const socket = await dial(gateway, { servername })
    assert.is(socket.getPeerCertificate().subject.CN, subject, servername)
  }
  const nameless = await dial(gateway, {})
  assert.is(nameless.getPeerCertificate().subject.CN, 'localhost')
})

tls('speaks HTTP/1.1 to a client that offers only that, and keeps the connection', async () => {
  const gateway = await secureGateway()
  const socket = await dial(gateway, { ALPNProtocols: ['http/1.1'] })
  assert.is(socket.alpnProtocol, 'http/1.1')
  for (let i = 0; i < 2; i++) {
    socket.write('GET / HTTP/1.1\r\nhost: elsewhere.test\r\n\r\n')
    const text = await textUntil(socket, isOk)
    assert.is(text, 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  }
})

tls('speaks HTTP/2 to a client that offers it', async () => {
  const gateway = await secureGateway()
  const client = stage.add(
    new Http2Client(`https://127.0.0.1:${gateway.port}`, {
      rejectUnauthorized: false,
      servername: 'b.example.test',
    }),
  )
  const request = client.request({ ':authority': 'b.example.test' })
  await request.closed()
  assert.is(request.body, 'ok')
  const [line] = await gateway.logged(1)
  assert.is(line!['http.version'], 'HTTP/2')
  assert.is(line!['listener'], 'gateway/default/test')
})

tls('relays an upload and its response through TLS', async () => {
  const size = 1_000_000
  const backend = await stage.backend([
    { wait: `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`.length + size },
    { send: `HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n` },
    { send: Buffer.alloc(size, 'y') },
  ])
  const pem = stage.add(new PemFiles())
  const gateway = await stage.gateway(
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1, tls: { cert: ${pem.cert}, key: ${pem.key} } } }\n` +
      `routes: [{ name: all, backends: [{ host: 127.0.0.1:${backend.port} }] }]`,
  )
  const socket = await dial(gateway, {})
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n${'x'.repeat(size)}`)
  const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n${'y'.repeat(size)}`
  const text = await textUntil(socket, ({ length }) => length >= whole.length)
  assert.ok(text === whole)
  assert.ok(backend.received.endsWith('x'.repeat(size)))
})

tls('ends a handshake that stalls, and serves other clients meanwhile', async () => {
  const gateway = await secureGateway('frontendPolicies: { tls: { handshakeTimeout: 200ms } }')
  const stalled = await stage.client(gateway)
  stalled.send('\x16\x03\x01')
  const socket = await dial(gateway, {})
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await textUntil(socket, isOk)
  await stalled.untilClosed()
})

tls('closes the connection of a client that speaks plain HTTP', async () => {
  const gateway = await secureGateway()
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  assert.not.match(await client.untilClosed(), 'HTTP')
})

tls('cancels the backend call when a TLS client disconnects', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const pem = stage.add(new PemFiles())
  const gateway = await stage.gateway(
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1, tls: { cert: ${pem.cert}, key: ${pem.key} } } }\n` +
      `routes: [{ name: all, backends: [{ host: 127.0.0.1:${backend.port} }] }]`,
  )
  const socket = await dial(gateway, {})
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await backend.until((text) => HEAD.test(text))
  socket.destroy()
  await backend.connections[0]!.untilClosed()
  assert.equal(await gateway.outcomes(1), ['client_closed'])
})

tls.run()
