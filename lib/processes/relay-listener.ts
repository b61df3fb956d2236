// Where requests come in that another worker accepted and could not give away with their connection, for TLS or HTTP/2 are
// spoken on it: a unix socket that only workers of this gateway know. Each tells whose request it is.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { READ_BUFFER_BYTES } from '../core/bounds.ts'
import type { PortLimits } from '../core/bounds.ts'
import type { ListeningSockets, OpenedPort } from '../core/listening-sockets.ts'
import { Sweeper } from '../core/sweeper.ts'
import type { ClientAddress, ExchangeHandler } from '../core/types.ts'
import type { RequestHead, HttpVersion } from '../core/head.ts'
import { TransportSocket } from '../http/transport-socket.ts'
import type { ClientConnection, ConnectionListener } from '../accept/connection-listener.ts'
import { Http1Connection } from '../accept/http1-connection.ts'
import { buildClientAddress } from '../accept/listener.ts'

/** Who asks, in JSON; taken off before anybody else sees the request. On other ports it is a header like any. */
export const RELAY_HEADER = 'x-gateway-relay'

/** Room in a head for that field, beyond what clients may send. */
const MARGIN_BYTES = 1_024
const MARGIN_FIELDS = 2

/** Above the pool's own at the other end: who closes first decides whether a request is lost. */
const KEEP_ALIVE_MS = 600_000

/** What another worker says of a request. */
export interface RelayedRequest {
  readonly address: string
  readonly port: number
  readonly secure: boolean
  /** What the client speaks; between workers it is always HTTP/1.1. */
  readonly version: HttpVersion
  /** The port of the configuration that it came in by. */
  readonly bind: number
}

interface RelayedClientAddress extends ClientAddress {
  readonly bind: number
}

/** Whether another worker accepted the request of this client. */
export function isRelayed(source: ClientAddress): source is RelayedClientAddress {
  return 'bind' in source
}

const NOBODY: RelayedClientAddress = { ...buildClientAddress('', 0, false), bind: -1 }

export interface RelayListenerOptions {
  readonly handler: ExchangeHandler
  readonly limits: () => PortLimits
  /** Connections at a time. */
  readonly maxConnections: number
}

export class RelayListener implements ConnectionListener {
  readonly handler: ExchangeHandler
  readonly isSecure = false
  readonly peers = null
  readonly connections: Sweeper<ClientConnection>
  readonly #options: RelayListenerOptions
  readonly #server: Server
  #state: 'open' | 'draining' = 'open'
  #opened: OpenedPort | null = null
  #numbered = 0
  /** Of clients, and made of them what holds here. */
  #seen: PortLimits
  #limits: PortLimits

  constructor(options: RelayListenerOptions) {
    this.#options = options
    this.#seen = options.limits()
    this.#limits = widenLimits(this.#seen)
    this.handler = options.handler
    this.connections = new Sweeper(KEEP_ALIVE_MS)
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accepted(socket))
    this.#server.maxConnections = options.maxConnections
  }

  get limits(): PortLimits {
    const limits = this.#options.limits()
    if (limits !== this.#seen) {
      this.#seen = limits
      this.#limits = widenLimits(limits)
    }
    return this.#limits
  }

  get isDraining(): boolean {
    return this.#state === 'draining'
  }

  async listen(path: string, sockets: ListeningSockets): Promise<void> {
    this.#opened = await sockets.open(this.#server, { path })
    // What cannot be accepted just now is tried again by the worker that has it.
    this.#server.on('error', () => {})
  }

  /** Resolves when what runs is answered. */
  async drain(): Promise<void> {
    this.#state = 'draining'
    this.#opened?.close()
    for (const connection of this.connections.members) connection.drain('now')
    await this.connections.whenEmpty()
  }

  cut(): void {
    for (const connection of this.connections.members) connection.shutDown()
  }

  portFor(source: ClientAddress): number {
    return isRelayed(source) ? source.bind : -1
  }

  relayedSourceOf(head: RequestHead): RelayedClientAddress {
    const text = head.get(RELAY_HEADER)
    head.remove(RELAY_HEADER)
    // A head that could not be read is nobody's, and gets no further.
    if (text === undefined) return NOBODY
    const { address, port, secure, version, bind } = JSON.parse(text) as RelayedRequest
    head.version = version
    return { ...buildClientAddress(address, port, secure), bind }
  }

  nextConnectionId(): number {
    return ++this.#numbered
  }

  /** Counted where the client is. */
  recordClosed(): void {}

  adoptHttp2(socket: Socket): void {
    socket.destroy()
  }

  #accepted(socket: Socket): void {
    const connection = new Http1Connection(this, NOBODY)
    connection.attach(TransportSocket.fromAccepted(socket, connection))
  }
}

function widenLimits(limits: PortLimits): PortLimits {
  return {
    ...limits,
    maxHeadBytes: Math.min(READ_BUFFER_BYTES, limits.maxHeadBytes + MARGIN_BYTES),
    maxHeaders: limits.maxHeaders + MARGIN_FIELDS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  }
}
