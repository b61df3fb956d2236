// A server as the browser sees one whose name is pointed elsewhere behind its back: first it hands out pages of its own,
// then all goes to another port of this machine. What was asked there is kept, and how it was answered.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

/** A whole response for a path, as bytes on the wire; the connection is closed behind it. */
export type Page = (path: string) => string

export class Turncoat {
  readonly #server = createServer((socket) => this.#accept(socket))
  readonly #sockets = new Set<Socket>()
  readonly #page: Page
  /** What came and went on each connection that was passed on. */
  readonly #taps: { came: string; went: string }[] = []
  #port = 0

  private constructor(page: Page) {
    this.#page = page
  }

  static async start(page: Page): Promise<Turncoat> {
    const turncoat = new Turncoat(page)
    turncoat.#server.listen(0, '127.0.0.1')
    await deadline(once(turncoat.#server, 'listening'), WAIT_MS, 'a port')
    return turncoat
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** From the next connection on. */
  turnTo(port: number): void {
    this.#port = port
  }

  /** `GET /path`, of all that was passed on. A body before it need not end its line. */
  get asked(): string[] {
    const line = /(?:GET|HEAD|POST|OPTIONS) \S+(?= HTTP\/1\.1\r\n)/g
    return this.#taps.flatMap(({ came }) => came.match(line) ?? [])
  }

  /** The statuses of all answers. */
  get statuses(): number[] {
    const lines = this.#taps.flatMap(({ went }) => went.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [])
    return lines.map(Number)
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    await deadline(closed, WAIT_MS, 'a port to close')
  }

  #accept(socket: Socket): void {
    this.#keep(socket)
    // Not before it asks: browsers open connections to have them at hand.
    socket.once('data', (first: Buffer) => {
      if (this.#port !== 0) return this.#pass(socket, first)
      const path = /^GET (\S+)/.exec(first.toString('latin1'))?.[1] ?? ''
      socket.end(this.#page(path))
    })
  }

  #pass(socket: Socket, first: Buffer): void {
    const other = this.#keep(connect(this.#port, '127.0.0.1'))
    const tap = { came: first.toString('latin1'), went: '' }
    this.#taps.push(tap)
    other.write(first)
    socket.on('data', (bytes: Buffer) => {
      tap.came += bytes.toString('latin1')
      other.write(bytes)
    })
    other.on('data', (bytes: Buffer) => {
      tap.went += bytes.toString('latin1')
      socket.write(bytes)
    })
    socket.once('end', () => other.end())
    other.once('end', () => socket.end())
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket)
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket))
    return socket
  }
}
