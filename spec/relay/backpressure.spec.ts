// Neither side can make the gateway buffer what the other does not read: the sender is slowed down instead.

import type { Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'

const pressure = suite('relay/backpressure')
const stage = new Stage()
pressure.after.each(() => stage.clear())

const MIB = 1024 * 1024
const HEAD = /\r\n\r\n/
const SIZE = 64 * MIB
/** There are four kernel buffers between the two ends; they grow to a few megabytes each. */
const BOUND = 32 * MIB
const PART = Buffer.alloc(256 * 1024, 'x')

/** Writes parts until the kernel has taken `size` bytes. */
class Sender {
  taken = 0
  readonly done: Promise<void>

  constructor(socket: Socket, size: number) {
    this.done = new Promise((resolve) => {
      const write = (): void => {
        socket.write(PART, (error) => {
          if (error != null) return
          this.taken += PART.length
          if (this.taken >= size) resolve()
          else write()
        })
      }
      write()
    })
  }

  /** Waits until no more is taken for many turns of the loop. */
  async stalled(): Promise<number> {
    let seen = -1
    for (let still = 0; still < 100; still++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (this.taken !== seen) still = 0
      seen = this.taken
    }
    return seen
  }
}

/** Counts the received bytes without keeping them. */
async function drain(socket: Socket, size: number): Promise<void> {
  let count = 0
  socket.removeAllListeners('data')
  const all = new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      count += bytes.length
      if (count >= size) resolve()
    })
  })
  socket.resume()
  await deadline(all, 20_000, `${size} bytes, not ${count}`)
}

for (const framing of [`content-length: ${SIZE}`, 'connection: close'])
  pressure(`slows down a backend whose client does not read (${framing})`, async () => {
    const backend = await stage.backend([
      { wait: HEAD },
      { send: `HTTP/1.1 200 OK\r\n${framing}\r\n\r\n` },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await client.until(HEAD)
    client.socket.pause()
    const sender = new Sender(backend.connections[0]!.socket, SIZE)
    const taken = await sender.stalled()
    assert.ok(taken < BOUND, `${taken} bytes taken`)
    await drain(client.socket, SIZE)
    await deadline(sender.done, 30_000, 'the rest to be taken')
  })

for (const chunked of [false, true])
  pressure(
    `slows down a client whose backend does not read${chunked ? ' chunks' : ''}`,
    async () => {
      const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
      const gateway = await stage.gateway(routeTo(backend))
      const client = await stage.client(gateway)
      const framing = chunked ? 'transfer-encoding: chunked' : `content-length: ${SIZE}`
      client.send(`POST / HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n`)
      await backend.until((text) => HEAD.test(text))
      const { socket } = backend.connections[0]!
      socket.pause()
      if (chunked) client.send(`${SIZE.toString(16)}\r\n`)
      const sender = new Sender(client.socket, SIZE)
      const taken = await sender.stalled()
      assert.ok(taken < BOUND, `${taken} bytes taken`)
      await drain(socket, SIZE)
      await deadline(sender.done, 30_000, 'the rest to be taken')
    },
  )

pressure('slows down both directions of a tunnel', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  await client.until(HEAD)
  const { socket } = backend.connections[0]!
  client.socket.pause()
  const down = new Sender(socket, SIZE)
  assert.ok((await down.stalled()) < BOUND)
  await drain(client.socket, SIZE)
  socket.pause()
  const up = new Sender(client.socket, SIZE)
  assert.ok((await up.stalled()) < BOUND)
  await drain(socket, SIZE)
})

pressure('does not delay other clients while one client does not read', async () => {
  const backend = await stage.backend(
    [{ wait: HEAD }, { send: `HTTP/1.1 200 OK\r\ncontent-length: ${SIZE}\r\n\r\n` }],
    [{ wait: HEAD }, { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' }, { again: true }],
  )
  const gateway = await stage.gateway(routeTo(backend))
  const slow = await stage.client(gateway)
  slow.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await slow.until(HEAD)
  slow.socket.pause()
  await new Sender(backend.connections[0]!.socket, SIZE).stalled()
  const quick = await stage.client(gateway)
  for (let i = 0; i < 10; i++) {
    quick.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    const text = await quick.until(/ok$/)
    quick.take(text.length)
  }
})

pressure.run()
