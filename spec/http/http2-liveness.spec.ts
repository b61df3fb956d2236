// Sessions that nghttp2 stopped reading without a notice, and sessions that live.

import { once } from 'node:events'
import { constants, performServerHandshake } from 'node:http2'
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Http2Liveness } from '../../lib/http/http2-liveness.ts'
import { deadline } from '../support/deadline.ts'
import { END_HEADERS, fieldLines, frame, PREFACE } from '../support/http2-frames.ts'
import { RawClient } from '../support/raw-client.ts'

const ACK = frame('settings', 1, 0)
const SETTINGS = frame('settings', 0, 0)
const HEAD = fieldLines(
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a'],
)

interface Scene {
  readonly client: RawClient
  readonly session: ServerHttp2Session
  readonly socket: Socket
  readonly liveness: Http2Liveness
  /** Sends bytes, and waits until they were read. */
  readonly send: (bytes: Buffer | string) => Promise<void>
}

const closing: (() => void)[] = []
const liveness = suite('HTTP/2 liveness')
liveness.after.each(() => {
  for (const close of closing.splice(0)) close()
})

async function opened(): Promise<Scene> {
  const server = createServer().listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'a port')
  const accepted = once(server, 'connection')
  const client = await RawClient.connect((server.address() as AddressInfo).port)
  const [socket] = (await deadline(accepted, 30_000, 'a connection')) as [Socket]
  const session = performServerHandshake(socket)
  session.on('error', () => {})
  const send = async (bytes: Buffer | string): Promise<void> => {
    const before = socket.bytesRead
    client.send(bytes)
    for (let left = 1_000; socket.bytesRead === before && left > 0; left--) await turn()
    await turn()
  }
  closing.push(() => {
    client.destroy()
    session.destroy()
    socket.destroy()
    server.close()
  })
  await send(Buffer.concat([PREFACE, SETTINGS, ACK]))
  return { client, session, socket, liveness: new Http2Liveness(session, socket), send }
}

async function turn(): Promise<void> {
  await deadline(new Promise((resolve) => setTimeout(resolve, 2)), 30_000, 'a turn')
}

/** Runs `count` sweeps; returns the result of each. */
async function sweeps(scene: Scene, count: number): Promise<boolean[]> {
  const results: boolean[] = []
  for (let left = count; left > 0; left--) {
    results.push(scene.liveness.isDead())
    await turn()
  }
  return results
}

liveness('probes once after bytes arrived, and accepts the acknowledgement', async () => {
  const scene = await opened()
  assert.equal(await sweeps(scene, 2), [false, false])
  const { length } = scene.client.text
  assert.ok(length > 0)
  await scene.send(ACK)
  assert.equal(await sweeps(scene, 6), [false, false, false, false, false, false])
  assert.is(scene.client.text.length, length)
})

liveness('probes again after more than an acknowledgement', async () => {
  const scene = await opened()
  await sweeps(scene, 2)
  await scene.send(Buffer.concat([ACK, frame('ping', 0, 0, Buffer.alloc(8))]))
  const { bytesWritten } = scene.socket
  assert.equal(await sweeps(scene, 3), [false, false, false])
  assert.ok(scene.socket.bytesWritten > bytesWritten)
})

// Newer versions of node detect this themselves.
liveness('detects a dead session whose client stays connected', async () => {
  const scene = await opened()
  await scene.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  assert.equal(await sweeps(scene, 3), [false, false, !scene.session.destroyed])
})

liveness('detects a dead session after an acknowledgement in the same read', async () => {
  const scene = await opened()
  await sweeps(scene, 2)
  await scene.send(Buffer.concat([ACK, Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')]))
  assert.equal(await sweeps(scene, 2), [false, !scene.session.destroyed])
})

// Regression: the probe was sent with another frame, and its acknowledgement could not arrive: the session stayed forever.
liveness('detects a dead session whose last frames were sent', async () => {
  const scene = await opened()
  const { session } = scene
  const streams: ServerHttp2Stream[] = []
  session.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {})
    streams.push(stream)
  })
  await scene.send(frame('headers', END_HEADERS, 1, HEAD))
  await scene.send(frame('data', 0, 1, Buffer.alloc(20_000)))
  await sweeps(scene, 2)
  const [stream] = streams
  if (!session.destroyed) stream?.close(constants.NGHTTP2_NO_ERROR)
  await sweeps(scene, 1)
  assert.is(scene.liveness.isDead(), !session.destroyed)
})

liveness('ends the session of a client that never acknowledges', async () => {
  const scene = await opened()
  for (let left = 20; left > 0 && !scene.session.destroyed; left--) {
    await scene.send(frame('ping', 0, 0, Buffer.alloc(8)))
    await sweeps(scene, 2)
  }
  assert.ok(scene.session.destroyed)
})

liveness.run()
