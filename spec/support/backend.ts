// A backend that follows a script and notes what it hears: raw bytes over TCP, no HTTP of its own.

import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { TlsOptions } from 'node:tls'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

/** A match, a count of bytes, or how much of the text is what was waited for (-1: not yet). */
export type Awaited = RegExp | number | ((text: string) => number)

export type Step =
  /** Until this arrived behind what earlier waits consumed. */
  | { wait: Awaited }
  | { send: Buffer | string }
  /** Each in a turn of its own, so that each is likely to be read alone. */
  | { sendApart: readonly Buffer[] }
  | { sleep: number }
  /** Until `release` is called. */
  | { hold: true }
  | { reset: true }
  | { close: true }
  /** From the first step again. */
  | { again: true }

export class Connection {
  readonly socket: Socket
  /** Everything received, as latin1. */
  received = ''
  end: 'open' | 'ended' | 'closed' = 'open'
  #heard = 0
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

  /** Moves behind the match; false when the connection ends before there is one. */
  async hear(what: Awaited): Promise<boolean> {
    for (;;) {
      const rest = this.received.substring(this.#heard)
      const length = lengthThrough(what, rest)
      if (length >= 0 && rest.length >= length) {
        this.#heard += length
        return true
      }
      if (this.end !== 'open') return false
      await this.change()
    }
  }

  async change(): Promise<void> {
    await new Promise<void>((resolve) => this.#wake.push(resolve))
  }

  /** Waits for the other side to end the connection, one way or the other. */
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

/** A port of its own on loopback, unless `path` names a socket; plain unless `tls` is given. */
export interface Place {
  path?: string
  tls?: TlsOptions
}

export class Backend {
  readonly connections: Connection[] = []
  readonly #server: Server
  /** Those of unfinished handshakes, too. */
  readonly #sockets = new Set<Socket>()
  #scripts: Step[][]
  #holds: (() => void)[] = []
  /** Releases that came before their hold. */
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

  /** One script per connection, in order; the last also serves all that follow. */
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

  /** Forgets all connections and plays other scripts on those to come. */
  async restart(...scripts: Step[][]): Promise<void> {
    this.#scripts = scripts
    this.#credit = 0
    for (const connection of this.connections.splice(0)) await hangUp(connection)
    for (const held of this.#holds.splice(0)) held()
  }

  /** Lets the connection that waits longest in a `hold` go on. */
  release(): void {
    const held = this.#holds.shift()
    if (held === undefined) this.#credit++
    else held()
  }

  /** Waits until what all connections received fits. */
  async until(fits: (received: string) => boolean, ms = WAIT_MS): Promise<string> {
    const until = performance.now() + ms
    while (!fits(this.received)) {
      const left = until - performance.now()
      if (left <= 0) throw new Error(`backend heard ${JSON.stringify(this.received)}`)
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
        if (!(await connection.hear(step.wait))) {
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
    // Nothing more to say: end when the other side does, so that nobody waits for us.
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

/** Ends a connection and waits for the other side to notice, so that it is not used again. */
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
