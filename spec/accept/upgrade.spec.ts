import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import WebSocket, { WebSocketServer } from 'ws'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'

const upgrade = suite('accept/upgrade')
const stage = new Stage()
upgrade.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const ASK = 'GET /chat HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: other/1\r\n\r\n'
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other/1\r\n\r\n'

async function waitForEvent<T>(emitter: NodeJS.EventEmitter, event: string): Promise<T> {
  const [first] = (await deadline(once(emitter, event), 5000, event)) as [T]
  return first
}

/** A server that echoes every message, and closes on request. */
async function echoServer(): Promise<{ port: number; sockets: Set<WebSocket> }> {
  const http: Server = createServer()
  const server = new WebSocketServer({ server: http, maxPayload: 64 * 1024 * 1024 })
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
      if (!isBinary && (data as Buffer).toString() === 'bye') socket.close(4000, 'as you wish')
      else socket.send(data, { binary: isBinary })
    })
  })
  http.listen(0, '127.0.0.1')
  await waitForEvent(http, 'listening')
  stage.add({
    close() {
      for (const socket of server.clients) socket.terminate()
      http.close()
    },
  })
  return { port: (http.address() as AddressInfo).port, sockets: server.clients }
}

async function dial(gateway: RunningGateway): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/chat`, { perMessageDeflate: false })
  stage.add({ close: () => socket.terminate() })
  await waitForEvent(socket, 'open')
  return socket
}

upgrade('relays websocket messages of every size in both directions', async () => {
  const gateway = await stage.gateway(routeTo(await echoServer()))
  const socket = await dial(gateway)
  for (const size of [0, 1, 125, 126, 65_535, 65_536, 5_000_000]) {
    const message = Buffer.alloc(size, size % 251)
    socket.send(message)
    const back = await waitForEvent<Buffer>(socket, 'message')
    assert.ok(message.equals(back), `${size} bytes`)
  }
})

upgrade('relays a websocket close by the client, and logs it as complete', async () => {
  const server = await echoServer()
  const gateway = await stage.gateway(routeTo(server))
  const socket = await dial(gateway)
  const [atBackend] = server.sockets
  const closed = waitForEvent<number>(atBackend!, 'close')
  socket.close(4001, 'done')
  assert.is(await waitForEvent<number>(socket, 'close'), 4001)
  assert.is(await closed, 4001)
  const [line] = await gateway.logged(1)
  assert.is(line!['http.status'], 101)
  assert.is(line!['outcome'], 'complete')
})

upgrade('relays a websocket close by the backend', async () => {
  const gateway = await stage.gateway(routeTo(await echoServer()))
  const socket = await dial(gateway)
  socket.send('bye')
  assert.is(await waitForEvent<number>(socket, 'close'), 4000)
  assert.equal(await gateway.outcomes(1), ['complete'])
})

upgrade('ends the backend side when a websocket client disconnects', async () => {
  const server = await echoServer()
  const gateway = await stage.gateway(routeTo(server))
  const socket = await dial(gateway)
  const [atBackend] = server.sockets
  const closed = waitForEvent<number>(atBackend!, 'close')
  socket.terminate()
  assert.is(await closed, 1006)
  await gateway.logged(1)
})

upgrade('ends the client side when the backend of a websocket disconnects', async () => {
  const server = await echoServer()
  const gateway = await stage.gateway(routeTo(server))
  const socket = await dial(gateway)
  for (const one of server.sockets) one.terminate()
  assert.is(await waitForEvent<number>(socket, 'close'), 1006)
  await gateway.logged(1)
})

upgrade('relays any protocol, with bytes that either side sent early', async () => {
  const backend = await stage.backend([
    { wait: /other\/1\r\n\r\n/ },
    { send: `${SWITCH}welcome` },
    { wait: /early/ },
    { send: 'heard' },
    { wait: /late/ },
    { close: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(`${ASK}early`)
  assert.is(await client.until(/heard$/), `${SWITCH}welcomeheard`)
  assert.is(
    backend.received,
    'GET /chat HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: other/1\r\n\r\nearly',
  )
  client.send('late')
  await client.untilClosed()
  assert.is(client.end, 'closed')
})

upgrade(
  'relays the last bytes of a backend after the client has half-closed the tunnel',
  async () => {
    const backend = await stage.backend([
      { wait: /other\/1\r\n\r\n/ },
      { send: SWITCH },
      { wait: /question/ },
      { hold: true },
      { send: 'answer' },
      { close: true },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send(ASK)
    await client.until(HEAD)
    client.send('question')
    client.halfClose()
    await backend.until((text) => text.endsWith('question'))
    await backend.connections[0]!.untilClosed()
    backend.release()
    assert.is(await client.untilClosed(), `${SWITCH}answer`)
    assert.equal(await gateway.outcomes(1), ['complete'])
  },
)

upgrade('lets a backend refuse the upgrade, and keeps the connection', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno' },
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(`${ASK}GET / HTTP/1.1\r\nhost: a\r\n\r\n`)
  assert.match(await client.until(/hi$/), /^HTTP\/1.1 400 Bad Request[^]*noHTTP\/1.1 200 OK[^]*hi$/)
})

upgrade('answers 502 when a backend switches protocols without a request for it', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: SWITCH }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/502 Bad Gateway[^]*upstream call failed: unexpected upgrade$/)
  await backend.connections[0]!.untilClosed()
})

upgrade('does not forward an upgrade to h2c, which would bypass every policy', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(
    'GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n' +
      'http2-settings: AAMAAABkAAQAAP__\r\n\r\n',
  )
  await client.until(/hi$/)
  assert.is(backend.received, 'GET / HTTP/1.1\r\nhost: a\r\n\r\n')
})

upgrade('refuses CONNECT and forwards nothing', async () => {
  const backend = await stage.backend([])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\n\r\n')
  const text = await client.untilClosed()
  assert.match(text, /^HTTP\/1.1 405 Method Not Allowed\r\n[^]*method not allowed: CONNECT$/)
  assert.is(backend.connections.length, 0)
  assert.equal(await gateway.outcomes(1), ['client_error'])
})

upgrade('relays a backend after the client has half-closed, as long as it sends', async () => {
  const words: Step[] = []
  for (let i = 0; i < 5; i++) words.push({ hold: true }, { send: `word ${i}\n` })
  const backend = await stage.backend([{ wait: HEAD }, { send: SWITCH }, ...words, { close: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(ASK)
  await client.until(HEAD)
  client.socket.end()
  for (let i = 0; i < 5; i++) {
    backend.release()
    await client.until(new RegExp(`word ${i}\n`))
  }
  await client.untilClosed()
  assert.equal(await gateway.outcomes(1), ['complete'])
})

upgrade('closes the backend after the client has half-closed and then disconnected', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: SWITCH },
    { send: Buffer.alloc(20_000_000) },
    { hold: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(ASK)
  await client.until(HEAD)
  client.socket.pause()
  const finished = waitForEvent(client.socket, 'finish')
  client.socket.end()
  await finished
  client.reset()
  await gateway.outcomes(1)
  await backend.connections[0]!.untilClosed()
})

upgrade.run()
