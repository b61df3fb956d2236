// A backend that follows a script and records what it receives: raw bytes over TCP, without an HTTP library.

import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { TlsOptions } from 'node:tls'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

/** A match, a number of bytes, or a function that returns the length of the awaited text (-1: not yet). */
export type Awaited = RegExp | number | ((text: string) => number)

export type Step =
  /** Waits until this is received after the bytes that earlier waits consumed. */
  | { wait: Awaited }
  | { send: Buffer | string }
  /** Sends each chunk in its own turn of the event loop, so that each is likely to be read alone. */
  | { sendApart: readonly Buffer[] }
  | { sleep: number }
  /** Waits until `release` is called. */
  | { hold: true }
  | { reset: true }
  | { close: true }
  /** Starts again with the first step. */
  | { again: true }

export class Connection {
  readonly socket: Socket
  /** Everything received, as latin1. */
  received = ''
  end: 'open' | 'ended' | 'closed' = 'open'
  #consumed = 0
  #wake: (() => void)[] = []

  constructor(socket: Socket) {
    this.socket = socket
    socket.unref()
    socket.on('data', (bytes) => {
      this.received += bytes.toString('latin1')
      this.notify()
    })
    socket.on('end', () => this.#ended('ended'))
    socket.on('error', () => this.#ended('closed'))
    socket.on('close', () => this.#ended('closed'))
  }

  /** Consumes up to the end of the match; false if the connection ends before a match. */
  async waitFor(what: Awaited): Promise<boolean> {
    for (;;) {
      const rest = this.received.substring(this.#consumed)
      const length = lengthThrough(what, rest)
      if (length >= 0 && rest.length >= length) {
        this.#consumed += length
        return true
      }
      if (this.end !== 'open') return false
      await this.change()
    }
  }

  async change(): Promise<void> {
    await new Promise<void>((resolve) => this.#wake.push(resolve))
  }

  /** Waits until the other side has closed or reset the connection. */
  async untilClosed(ms = WAIT_MS): Promise<void> {
    while (this.end === 'open') await deadline(this.change(), ms, 'a connection to end')
  }

  notify(): void {
    const woken = this.#wake
    this.#wake = []
    for (const wake of woken) wake()
  }

  #ended(how: 'ended' | 'closed'): void {
    if (this.end !== 'closed') this.end = how
    this.notify()
  }
}

/** A free port on loopback, unless `path` names a unix socket; plain TCP unless `tls` is given. */
export interface Place {
  path?: string
  tls?: TlsOptions
}

export class Backend {
  readonly connections: Connection[] = []
  readonly #server: Server
  /** Sockets, including those in a handshake. */
  readonly #sockets = new Set<Socket>()
  #scripts: Step[][]
  #holds: (() => void)[] = []
  /** Calls of `release` before a `hold`. */
  #credit = 0

  private constructor(scripts: Step[][], { tls }: Place) {
    this.#scripts = scripts
    const accept = (socket: Socket): void => {
      const connection = new Connection(socket)
      const script = this.#scripts[Math.min(this.connections.length, this.#scripts.length - 1)]
      this.connections.push(connection)
      void this.#play(connection, script ?? [])
    }
    const tcp = { noDelay: true, allowHalfOpen: true }
    this.#server =
      tls === undefined ? createServer(tcp, accept) : createTlsServer({ ...tcp, ...tls }, accept)
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#server.unref()
  }

  /** One script per connection, in order; the last script serves all later connections. */
  static async start(...scripts: Step[][]): Promise<Backend> {
    return Backend.startAt({}, ...scripts)
  }

  static async startAt(place: Place, ...scripts: Step[][]): Promise<Backend> {
    const backend = new Backend(scripts, place)
    const listening = new Promise<void>((resolve, reject) => {
      backend.#server.once('error', reject)
      if (place.path !== undefined) backend.#server.listen(place.path, resolve)
      else backend.#server.listen(0, '127.0.0.1', resolve)
    })
    await deadline(listening, WAIT_MS, 'the backend to listen')
    return backend
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get received(): string {
    return this.connections.map((connection) => connection.received).join('')
  }

  /** Forgets all connections, and uses other scripts for later ones. */
  async restart(...scripts: Step[][]): Promise<void> {
    this.#scripts = scripts
    this.#credit = 0
    for (const connection of this.connections.splice(0)) await hangUp(connection)
    for (const held of this.#holds.splice(0)) held()
  }

  /** Continues the connection that waits longest in a `hold`. */
  release(): void {
    const held = this.#holds.shift()
    if (held === undefined) this.#credit++
    else held()
  }

  /** Waits until the received text of all connections fits. */
  async until(fits: (received: string) => boolean, ms = WAIT_MS): Promise<string> {
    const until = performance.now() + ms
    while (!fits(this.received)) {
      const left = until - performance.now()
      if (left <= 0) throw new Error(`backend received ${JSON.stringify(this.received)}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return this.received
  }

  async close(): Promise<void> {
    for (const connection of this.connections) connection.socket.destroy()
    for (const socket of this.#sockets) socket.destroy()
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    await deadline(closed, WAIT_MS, 'the backend to close')
  }

  async #play(connection: Connection, script: Step[]): Promise<void> {
    for (let i = 0; i < script.length; i++) {
      const step = script[i]!
      const { socket } = connection
      if ('wait' in step) {
        if (!(await connection.waitFor(step.wait))) {
          socket.end()
          return
        }
      } else if ('send' in step)
        socket.write(typeof step.send === 'string' ? Buffer.from(step.send, 'latin1') : step.send)
      else if ('sendApart' in step) await sendApart(socket, step.sendApart)
      else if ('sleep' in step) await new Promise((resolve) => setTimeout(resolve, step.sleep))
      else if ('hold' in step) await this.#hold()
      else if ('reset' in step) socket.resetAndDestroy()
      else if ('close' in step) socket.end()
      else i = -1
      if (socket.destroyed) return
    }
    // The script is over: end when the other side ends, so that it does not wait.
    while (connection.end === 'open') await connection.change()
    connection.socket.end()
  }

  async #hold(): Promise<void> {
    if (this.#credit > 0) this.#credit--
    else await new Promise<void>((resolve) => this.#holds.push(resolve))
  }
}

async function sendApart(socket: Socket, chunks: readonly Buffer[]): Promise<void> {
  for (const chunk of chunks) {
    socket.write(chunk)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Ends a connection and waits until the other side has closed it, so that it is not reused. */
async function hangUp(connection: Connection): Promise<void> {
  connection.socket.end()
  const until = performance.now() + 500
  while (connection.end === 'open' && performance.now() < until)
    await Promise.race([connection.change(), new Promise((resolve) => setTimeout(resolve, 50))])
  connection.socket.destroy()
}

function lengthThrough(what: Awaited, text: string): number {
  if (typeof what === 'number') return what
  if (typeof what === 'function') return what(text)
  const found = what.exec(text)
  return found === null ? -1 : found.index + found[0].length
}
