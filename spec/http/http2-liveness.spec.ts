// Sessions that nghttp2 has given up without a word, and those it has not.

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
  readonly pulse: Http2Liveness
  /** Sends it, and waits until it was read. */
  readonly say: (bytes: Buffer | string) => Promise<void>
}

const closing: (() => void)[] = []
const pulse = suite('base/wire/http2-pulse')
pulse.after.each(() => {
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
  const say = async (bytes: Buffer | string): Promise<void> => {
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
  await say(Buffer.concat([PREFACE, SETTINGS, ACK]))
  return { client, session, socket, pulse: new Http2Liveness(session, socket), say }
}

async function turn(): Promise<void> {
  await deadline(new Promise((resolve) => setTimeout(resolve, 2)), 30_000, 'a turn')
}

/** So many sweeps; the verdict of each. */
async function sweeps(scene: Scene, count: number): Promise<boolean[]> {
  const verdicts: boolean[] = []
  for (let left = count; left > 0; left--) {
    verdicts.push(scene.pulse.isDead())
    await turn()
  }
  return verdicts
}

pulse('asks once behind what came, and is content with the answer', async () => {
  const scene = await opened()
  assert.equal(await sweeps(scene, 2), [false, false])
  const { length } = scene.client.text
  assert.ok(length > 0)
  await scene.say(ACK)
  assert.equal(await sweeps(scene, 6), [false, false, false, false, false, false])
  assert.is(scene.client.text.length, length)
})

pulse('asks again behind more than an answer', async () => {
  const scene = await opened()
  await sweeps(scene, 2)
  await scene.say(Buffer.concat([ACK, frame('ping', 0, 0, Buffer.alloc(8))]))
  const { bytesWritten } = scene.socket
  assert.equal(await sweeps(scene, 3), [false, false, false])
  assert.ok(scene.socket.bytesWritten > bytesWritten)
})

// Newer versions of node hear of it by themselves.
pulse('finds a session that was given up, though its client stays', async () => {
  const scene = await opened()
  await scene.say('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  assert.equal(await sweeps(scene, 3), [false, false, !scene.session.destroyed])
})

pulse('finds one behind an answer in the same read, too', async () => {
  const scene = await opened()
  await sweeps(scene, 2)
  await scene.say(Buffer.concat([ACK, Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')]))
  assert.equal(await sweeps(scene, 2), [false, !scene.session.destroyed])
})

// The question left with something else, and its answer could not come: such a one was held for ever.
pulse('finds one whose last words left after all', async () => {
  const scene = await opened()
  const { session } = scene
  const streams: ServerHttp2Stream[] = []
  session.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {})
    streams.push(stream)
  })
  await scene.say(frame('headers', END_HEADERS, 1, HEAD))
  await scene.say(frame('data', 0, 1, Buffer.alloc(20_000)))
  await sweeps(scene, 2)
  const [stream] = streams
  if (!session.destroyed) stream?.close(constants.NGHTTP2_NO_ERROR)
  await sweeps(scene, 1)
  assert.is(scene.pulse.isDead(), !session.destroyed)
})

pulse('does not ask a client for ever that never answers', async () => {
  const scene = await opened()
  for (let left = 20; left > 0 && !scene.session.destroyed; left--) {
    await scene.say(frame('ping', 0, 0, Buffer.alloc(8)))
    await sweeps(scene, 2)
  }
  assert.ok(scene.session.destroyed)
})

pulse.run()
