// Tells clients for whom there is no room why they are sent away. That costs a moment and a descriptor each, so few are
// told at a time; above that, connections close without a word.

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { tellsHttp2 } from './preface.ts'

export const MAX_GOODBYES = 16

/** From the connection to its end: for what the client asks, the answer, and its own goodbye. */
const GOODBYE_MS = 1_000
/** Of what a client sends meanwhile. */
const GOODBYE_BYTES = 65_536

/** An empty SETTINGS frame, and a GOAWAY with ENHANCE_YOUR_CALM before the first stream. */
const SETTINGS = Buffer.from('000000040000000000', 'hex')
const GOAWAY = Buffer.from('070000000000000000000000000b', 'hex')

export class Goodbyes {
  #said = 0

  /** A plain socket from which nothing was read, or by another worker no more than its head. */
  say(socket: Socket, reason: string, unread: Buffer | null = null): void {
    if (this.#said >= MAX_GOODBYES) return void socket.destroy()
    this.#said++
    const timer = setTimeout(() => socket.destroy(), GOODBYE_MS)
    let read = 0
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#said--
      clearTimeout(timer)
    })
    // Behind the request: an answer that is there before it is a fault to some clients.
    const heard = (bytes: Buffer): void => {
      if (read === 0) socket.end(answerTo(bytes, reason))
      read += bytes.length
      if (read > GOODBYE_BYTES) socket.destroy()
    }
    if (unread !== null) heard(unread)
    socket.on('data', heard)
    socket.resume()
  }
}

function answerTo(bytes: Buffer, reason: string): Buffer {
  if (tellsHttp2(bytes, 0, bytes.length)) return goAway(reason)
  const head = [
    `HTTP/1.1 503 ${STATUS_CODES[503]}`,
    'content-type: text/plain',
    `content-length: ${reason.length}`,
    'retry-after: 1',
    'connection: close',
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${reason}`, 'latin1')
}

function goAway(reason: string): Buffer {
  const length = Buffer.alloc(3)
  length.writeUIntBE(8 + reason.length, 0, 3)
  return Buffer.concat([SETTINGS, length, GOAWAY, Buffer.from(reason, 'latin1')])
}
