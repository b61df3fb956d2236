// Shutdown as clients see it: running requests may finish until the deadline, and no new ones start.

import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from './support/backend.ts'
import { deadline } from './support/deadline.ts'
import { Stage, routeTo } from './support/gateway.ts'
import { Http2Client } from './support/http2-client.ts'

const shutdown = suite('gateway shutdown')
const stage = new Stage()
shutdown.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HELD: Step[] = [{ wait: HEAD }, { hold: true }, { send: OK }]
const STREAM: Step[] = [
  { wait: HEAD },
  { send: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n' },
  { hold: true },
  { send: '4\r\nmore\r\n0\r\n\r\n' },
]

shutdown('sends connection: close with the remaining responses', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await backend.until((text) => HEAD.test(text))
  const stopped = gateway.stop()
  backend.release()
  assert.is(
    await client.untilClosed(),
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok',
  )
  client.destroy()
  await stopped
  assert.equal(await gateway.outcomes(1), ['complete'])
})

shutdown('lets a running stream finish, then closes', async () => {
  const backend = await stage.backend(STREAM)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET + GET)
  await client.until(/some\r\n$/)
  const stopped = gateway.stop()
  backend.release()
  assert.match(await client.untilClosed(), /some\r\n4\r\nmore\r\n0\r\n\r\n$/)
  client.destroy()
  await stopped
  // The next pipelined request is not started.
  assert.is(backend.received, GET)
  assert.equal(await gateway.outcomes(1), ['complete'])
})

shutdown('closes idle connections of both sides at once', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend))
  const silent = await stage.client(gateway)
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  await gateway.stop()
  await client.untilClosed()
  await silent.untilClosed()
  await backend.connections[0]!.untilClosed()
})

shutdown('delivers a response that is being written when it stops', async () => {
  const size = 10_000_000
  const gateway = await stage.gateway(
    `routes: [{ name: page, policies: { directResponse: { status: 200, body: ${'x'.repeat(size)} } } }]`,
  )
  const client = await stage.client(gateway)
  client.socket.pause()
  client.send(GET)
  // The kernel does not take all of it: the rest is buffered in the gateway's socket when the exchange is over.
  await gateway.logged(1)
  const stopped = gateway.stop()
  client.socket.resume()
  assert.is((await client.untilClosed()).split('\r\n\r\n')[1]!.length, size)
  client.destroy()
  await stopped
})

shutdown('accepts no new connection', async () => {
  const backend = await stage.backend(HELD)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await backend.until((text) => HEAD.test(text))
  const stopped = gateway.stop()
  let refused = ''
  try {
    await stage.client(gateway)
  } catch (error) {
    refused = (error as NodeJS.ErrnoException).code ?? ''
  }
  assert.is(refused, 'ECONNREFUSED')
  backend.release()
  await client.untilClosed()
  client.destroy()
  await stopped
})

shutdown('cuts running requests at the deadline', async () => {
  const backend = await stage.backend(STREAM, HELD)
  const gateway = await stage.gateway(
    `config: { connectionTerminationDeadline: 50ms }\n${routeTo(backend)}`,
  )
  const streaming = await stage.client(gateway)
  streaming.send(GET)
  await streaming.until(/some\r\n$/)
  const waiting = await stage.client(gateway)
  waiting.send(GET)
  await backend.until((text) => text === GET + GET)
  await gateway.stop()
  assert.match(await streaming.untilClosed(), /4\r\nsome\r\n$/)
  assert.is(await waiting.untilClosed(), '')
  for (const connection of backend.connections) await connection.untilClosed()
  assert.equal(await gateway.outcomes(2), ['shutdown', 'shutdown'])
})

shutdown('sends GOAWAY on HTTP/2 connections and lets their streams finish', async () => {
  const backend = await stage.backend(STREAM)
  const gateway = await stage.gateway(routeTo(backend))
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const goaway = new Promise<number>((resolve) => client.session.once('goaway', resolve))
  const request = client.request({})
  await request.until(() => request.body === 'some')
  const stopped = gateway.stop()
  assert.is(await deadline(goaway, 30_000, 'GOAWAY'), constants.NGHTTP2_NO_ERROR)
  backend.release()
  assert.is(await request.closed(), constants.NGHTTP2_NO_ERROR)
  assert.is(request.body, 'somemore')
  await client.closed()
  await stopped
  assert.equal(await gateway.outcomes(1), ['complete'])
})

shutdown('resets running HTTP/2 streams at the deadline', async () => {
  const backend = await stage.backend(STREAM)
  const gateway = await stage.gateway(
    `config: { connectionTerminationDeadline: 50ms }\n${routeTo(backend)}`,
  )
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const request = client.request({})
  await request.until(() => request.body === 'some')
  await gateway.stop()
  assert.is.not(await request.closed(), constants.NGHTTP2_NO_ERROR)
  await backend.connections[0]!.untilClosed()
  assert.equal(await gateway.outcomes(1), ['shutdown'])
})

shutdown('lets a tunnel run until the deadline', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n' },
    { wait: /question/ },
    { send: 'answer' },
  ])
  const gateway = await stage.gateway(
    `config: { connectionTerminationDeadline: 300ms }\n${routeTo(backend)}`,
  )
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  await client.until(HEAD)
  const stopped = gateway.stop()
  client.send('question')
  await client.until(/answer$/)
  await stopped
  await client.untilClosed()
  assert.equal(await gateway.outcomes(1), ['shutdown'])
})

shutdown.run()
