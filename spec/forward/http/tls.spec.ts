// TLS to backends: trust, host names, client certificates and ALPN.

import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import WebSocket, { WebSocketServer } from 'ws'
import { Backend } from '../../support/backend.ts'
import type { Step } from '../../support/backend.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage, routeTo } from '../../support/gateway.ts'
import { PemFiles } from '../../support/pem-files.ts'
import { CERT, KEY, OTHER_CERT, OTHER_KEY } from '../../support/tls-pair.ts'

const tls = suite('forward/http/tls')
const stage = new Stage()
tls.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

async function secureBackend(options: object, ...scripts: Step[][]): Promise<Backend> {
  return stage.add(await Backend.startAt({ tls: { cert: CERT, key: KEY, ...options } }, ...scripts))
}

/** The response to one request through a gateway with this configuration. */
async function answerOf(text: string): Promise<string> {
  const gateway = await stage.gateway(text)
  const client = await stage.client(gateway)
  client.send(GET)
  return client.until(/\r\n\r\n[^]+$/)
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'a server to listen')
  return (server.address() as AddressInfo).port
}

tls('uses HTTP/1.1 for a backend without ALPN, and reuses the connection', async () => {
  const backend = await secureBackend({}, SERVE)
  const gateway = await stage.gateway(routeTo(backend, 'backendTLS: { insecure: true }'))
  const client = await stage.client(gateway)
  client.send(GET.repeat(3))
  await client.until((text) => text.split('\r\n\r\nok').length > 3)
  assert.is(backend.connections.length, 1)
  assert.is(backend.received, GET.repeat(3))
})

tls('trusts the configured root certificate', async () => {
  const pem = stage.add(new PemFiles())
  const backend = await secureBackend({}, SERVE)
  const answer = await answerOf(routeTo(backend, `backendTLS: { root: ${pem.cert} }`))
  assert.match(answer, '200 OK')
})

tls('refuses a backend with an untrusted certificate, and answers only the reason', async () => {
  const backend = await secureBackend({}, SERVE)
  const answer = await answerOf(routeTo(backend, 'backendTLS: {}'))
  assert.match(
    answer,
    /503 Service Unavailable[^]*upstream call failed: DEPTH_ZERO_SELF_SIGNED_CERT$/,
  )
  assert.is(backend.received, '')
})

tls('checks the certificate for the configured hostname, and sends it as server name', async () => {
  const pem = stage.add(new PemFiles())
  const names: string[] = []
  const options = {
    cert: OTHER_CERT,
    key: OTHER_KEY,
    SNICallback(name: string, done: (error: null) => void) {
      names.push(name)
      done(null)
    },
  }
  const backend = await secureBackend(options, SERVE)
  const root = `root: ${pem.otherCert}`
  const right = await answerOf(
    routeTo(backend, `backendTLS: { ${root}, hostname: inner.example.test }`),
  )
  assert.match(right, '200 OK')
  assert.equal(names, ['inner.example.test'])
  const wrong = await answerOf(routeTo(backend, `backendTLS: { ${root}, hostname: other.test }`))
  assert.match(wrong, /503[^]*upstream call failed: ERR_TLS_CERT_ALTNAME_INVALID$/)
  // An IP address must be among the addresses of the certificate.
  const address = await answerOf(routeTo(backend, `backendTLS: { ${root} }`))
  assert.match(address, /503[^]*upstream call failed: ERR_TLS_CERT_ALTNAME_INVALID$/)
})

tls('sends its client certificate to a backend that requests one', async () => {
  const pem = stage.add(new PemFiles())
  const options = { requestCert: true, rejectUnauthorized: true, ca: OTHER_CERT }
  const backend = await secureBackend(options, SERVE)
  const own = `cert: ${pem.otherCert}, key: ${pem.otherKey}`
  assert.match(await answerOf(routeTo(backend, `backendTLS: { insecure: true, ${own} }`)), '200 OK')
  assert.match(await answerOf(routeTo(backend, 'backendTLS: { insecure: true }')), '503 Service')
})

tls('fails only the call whose handshake stalls', async () => {
  let accepted = 0
  const server = createServer((socket) => {
    stage.add({ close: () => socket.destroy() })
    // The first connection gets no answer; the others go to a server that answers.
    if (accepted++ === 0) socket.resume()
    else secure.emit('connection', socket)
  })
  const secure = createSecureServer({ cert: CERT, key: KEY }, (_request, response) => {
    response.end('ok')
  })
  stage.add(server)
  const gateway = await stage.gateway(
    `config: { backend: { connectTimeout: 500ms } }\n` +
      routeTo({ port: await listening(server) }, 'backendTLS: { insecure: true }'),
  )
  const stalled = await stage.client(gateway)
  stalled.send(GET)
  const other = await stage.client(gateway)
  other.send(GET)
  await other.until(/ok/)
  assert.is(stalled.text, '')
  await stalled.until(/503 Service Unavailable[^]*upstream call failed: connect timed out$/)
  assert.equal(
    (await gateway.logged(2)).map(({ outcome, reason }) => [outcome, reason]),
    [
      ['complete', undefined],
      ['backend_timeout', 'CONNECT_TIMEOUT'],
    ],
  )
})

tls('forwards a websocket to a backend that prefers HTTP/2', async () => {
  const server = createSecureServer(
    { cert: CERT, key: KEY, allowHTTP1: true },
    (_request, response) => {
      response.end('ok')
    },
  )
  stage.add(server)
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      accepted.on('message', (data) => accepted.send(data))
    })
  })
  const port = await listening(server as unknown as Server)
  const gateway = await stage.gateway(routeTo({ port }, 'backendTLS: { insecure: true }'))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok/)
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/`)
  stage.add({ close: () => socket.terminate() })
  await deadline(once(socket, 'open'), 30_000, 'a websocket to open')
  socket.send('echo')
  const [data] = (await deadline(once(socket, 'message'), 30_000, 'an echo')) as [Buffer]
  assert.is(data.toString(), 'echo')
})

tls.run()
