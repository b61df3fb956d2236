// Where requests come in that another worker accepted and could not give away with their connection, for TLS or HTTP/2 are
// spoken on it: a unix socket that only workers of this gateway know. Each tells whose request it is.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { READ_BUFFER_BYTES } from '../base/bounds/limits.ts'
import type { PortLimits } from '../base/bounds/limits.ts'
import type { Exchange } from '../base/exchange.ts'
import type { OpenedPort } from '../base/processes/open-port.ts'
import type { Sockets } from '../base/processes/sockets.ts'
import { Sweeper } from '../base/sweeper.ts'
import type { Peer, Steps } from '../base/types.ts'
import type { RequestHead, Version } from '../base/wire/head.ts'
import { Wire } from '../base/wire/socket.ts'
import type { Connection, Door } from './door.ts'
import { Http1Connection } from './http1.ts'
import { peerFrom } from './peer.ts'

/** Who asks, in JSON; taken off before anybody else sees the request. On other ports it is a header like any. */
export const RELAY_FIELD = 'x-gateway-relay'

/** Room in a head for that field, beyond what clients may send. */
const MARGIN_BYTES = 1_024
const MARGIN_FIELDS = 2

/** Above the pool's own at the other end: who closes first decides whether a request is lost. */
const KEEP_ALIVE_MS = 600_000

/** What another worker says of a request. */
export interface Relayed {
  readonly address: string
  readonly port: number
  readonly secure: boolean
  /** What the client speaks; between workers it is always HTTP/1.1. */
  readonly version: Version
  /** The port of the configuration that it came in by. */
  readonly bind: number
}

interface RelayedPeer extends Peer {
  readonly bind: number
}

const NOBODY: RelayedPeer = { ...peerFrom('', 0, false), bind: -1 }

export interface RelayOptions {
  readonly steps: Steps
  readonly limits: () => PortLimits
  /** Connections at a time. */
  readonly most: number
  readonly serve: (exchange: Exchange, port: number) => void
}

export class RelayDoor implements Door {
  readonly steps: Steps
  readonly isSecure = false
  readonly neighbours = null
  readonly connections: Sweeper<Connection>
  readonly #options: RelayOptions
  readonly #server: Server
  #state: 'open' | 'draining' = 'open'
  #opened: OpenedPort | null = null
  #numbered = 0
  /** Of clients, and made of them what holds here. */
  #seen: PortLimits
  #limits: PortLimits

  constructor(options: RelayOptions) {
    this.#options = options
    this.#seen = options.limits()
    this.#limits = roomier(this.#seen)
    this.steps = options.steps
    this.connections = new Sweeper(KEEP_ALIVE_MS)
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accepted(socket))
    this.#server.maxConnections = options.most
  }

  get limits(): PortLimits {
    const limits = this.#options.limits()
    if (limits !== this.#seen) {
      this.#seen = limits
      this.#limits = roomier(limits)
    }
    return this.#limits
  }

  get isDraining(): boolean {
    return this.#state === 'draining'
  }

  async listen(path: string, sockets: Sockets): Promise<void> {
    this.#opened = await sockets.open(this.#server, { path })
    // What cannot be accepted just now is tried again by the worker that has it.
    this.#server.on('error', () => {})
  }

  /** Resolves when what runs is answered. */
  async drain(): Promise<void> {
    this.#state = 'draining'
    this.#opened?.close()
    for (const connection of this.connections.members) connection.drain('now')
    await this.connections.empty()
  }

  cut(): void {
    for (const connection of this.connections.members) connection.shutDown()
  }

  readonly serve = (exchange: Exchange): void => {
    const { bind } = exchange.source as RelayedPeer
    this.#options.serve(exchange, bind)
  }

  sourceOf(head: RequestHead): RelayedPeer {
    const text = head.get(RELAY_FIELD)
    head.remove(RELAY_FIELD)
    // A head that could not be read is nobody's, and gets no further.
    if (text === undefined) return NOBODY
    const { address, port, secure, version, bind } = JSON.parse(text) as Relayed
    head.version = version
    return { ...peerFrom(address, port, secure), bind }
  }

  number(): number {
    return ++this.#numbered
  }

  /** Counted where the client is. */
  carried(): void {}

  http2(socket: Socket): void {
    socket.destroy()
  }

  #accepted(socket: Socket): void {
    const connection = new Http1Connection(this, NOBODY)
    connection.attach(Wire.accepted(socket, connection))
  }
}

function roomier(limits: PortLimits): PortLimits {
  return {
    ...limits,
    maxHeadBytes: Math.min(READ_BUFFER_BYTES, limits.maxHeadBytes + MARGIN_BYTES),
    maxHeaders: limits.maxHeaders + MARGIN_FIELDS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  }
}
