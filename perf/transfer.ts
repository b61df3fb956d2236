// One transfer of 64 MiB, down or up, checked to the byte. The reader may stall before it reads.
import type { Socket } from 'node:net'
import { bodySize, connected } from './client.ts'
import { Deferred } from './deferred.ts'
import { MIB } from './fixtures.ts'
import { dial } from './socket.ts'

export const TRANSFER = 64 * MIB
const TRANSFER_DEADLINE_MS = 60_000
const LONGEST_ANSWER = 4096
const BLOCK = Buffer.alloc(64 * 1024, 'x')

export type Transfer = (port: number, stallMs: number) => Promise<void>

/** Reads the head, stalls, then reads the rest and checks its size to the byte. */
export async function download(port: number, stallMs: number): Promise<void> {
  const head = `GET /download?bytes=${TRANSFER} HTTP/1.1\r\nhost: bench.test\r\n\r\n`
  await exchange(port, head, (socket, done) => {
    let received = -1
    return (count, buffer) => {
      if (received < 0) {
        const text = buffer.toString('latin1', 0, count)
        const declared = bodySize(text)
        if (declared !== TRANSFER) throw new Error(`the download announced ${declared} bytes`)
        received = count - text.indexOf('\r\n\r\n') - 4
        if (stallMs === 0) return true
        setTimeout(() => socket.resume(), stallMs)
        return false
      }
      received += count
      if (received > TRANSFER) throw new Error(`the download has ${received} bytes`)
      if (received === TRANSFER) done()
      return true
    }
  })
}

/** Sends as fast as possible to a backend that stalls and finally reports how much it received. */
export async function upload(port: number, stallMs: number): Promise<void> {
  const head =
    `POST /upload?stall=${stallMs} HTTP/1.1\r\nhost: bench.test\r\n` +
    `content-length: ${TRANSFER}\r\n\r\n`
  await exchange(port, head, (socket, done) => {
    let left = TRANSFER
    const fill = (): void => {
      while (left > 0 && !socket.destroyed) {
        left -= BLOCK.length
        if (!socket.write(BLOCK)) {
          socket.once('drain', fill)
          return
        }
      }
    }
    socket.once('connect', fill)
    let answer = ''
    return (count, buffer) => {
      answer += buffer.toString('latin1', 0, count)
      if (answer.includes(`"received":${TRANSFER}}`)) done()
      else if (!answer.startsWith('HTTP/1.1 200 ') || answer.length > LONGEST_ANSWER) {
        throw new Error(`the upload was answered: ${answer.slice(0, 80)}`)
      }
      return true
    }
  })
}

type Reader = (count: number, buffer: Buffer) => boolean

async function exchange(
  port: number,
  head: string,
  make: (socket: Socket, done: () => void) => Reader,
): Promise<void> {
  const over = new Deferred()
  const socket: Socket = dial(port, (count, buffer) => {
    try {
      return read(count, buffer)
    } catch (error) {
      over.reject(error)
      return false
    }
  })
  socket.write(head)
  const read = make(socket, over.resolve)
  const timer = setTimeout(() => over.reject(new Error('the transfer hung')), TRANSFER_DEADLINE_MS)
  try {
    await connected(socket, over.reject)
    await over.promise
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}
