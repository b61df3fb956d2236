// A server for DNS rebinding: first it serves its own pages, then it forwards all connections to another port of this
// machine, and records the forwarded requests and responses.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

/** A complete response for a path, as bytes; the connection is closed after it. */
export type Page = (path: string) => string

export class RebindingServer {
  readonly #server = createServer((socket) => this.#accept(socket))
  readonly #sockets = new Set<Socket>()
  readonly #page: Page
  /** The bytes in both directions on each forwarded connection. */
  readonly #taps: { received: string; sent: string }[] = []
  #port = 0

  private constructor(page: Page) {
    this.#page = page
  }

  static async start(page: Page): Promise<RebindingServer> {
    const server = new RebindingServer(page)
    server.#server.listen(0, '127.0.0.1')
    await deadline(once(server.#server, 'listening'), WAIT_MS, 'the server to listen')
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Forwards from the next connection on. */
  forwardTo(port: number): void {
    this.#port = port
  }

  /** The request lines that were forwarded, as `GET /path`; a body before one need not end its line. */
  get requestLines(): string[] {
    const line = /(?:GET|HEAD|POST|OPTIONS) \S+(?= HTTP\/1\.1\r\n)/g
    return this.#taps.flatMap(({ received }) => received.match(line) ?? [])
  }

  /** The statuses of all responses. */
  get statuses(): number[] {
    const lines = this.#taps.flatMap(({ sent }) => sent.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [])
    return lines.map(Number)
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    await deadline(closed, WAIT_MS, 'the server to close')
  }

  #accept(socket: Socket): void {
    this.#keep(socket)
    // Only after a request: browsers open spare connections.
    socket.once('data', (first: Buffer) => {
      if (this.#port !== 0) return this.#pass(socket, first)
      const path = /^GET (\S+)/.exec(first.toString('latin1'))?.[1] ?? ''
      socket.end(this.#page(path))
    })
  }

  #pass(socket: Socket, first: Buffer): void {
    const other = this.#keep(connect(this.#port, '127.0.0.1'))
    const tap = { received: first.toString('latin1'), sent: '' }
    this.#taps.push(tap)
    other.write(first)
    socket.on('data', (bytes: Buffer) => {
      tap.received += bytes.toString('latin1')
      other.write(bytes)
    })
    other.on('data', (bytes: Buffer) => {
      tap.sent += bytes.toString('latin1')
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
