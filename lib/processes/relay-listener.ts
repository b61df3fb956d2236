// The unix socket on which a worker receives requests that another worker accepted and could not hand over with their
// connection, because it uses TLS or HTTP/2. A header names the client of each request.

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

/** The client in JSON; removed before the request is processed. On other ports it is an ordinary header. */
export const RELAY_HEADER = 'x-gateway-relay'

/** Head size for that header, in addition to what clients may send. */
const MARGIN_BYTES = 1_024
const MARGIN_FIELDS = 2

/** Longer than the idle timeout of the connecting pool: if this side closed first, a request could be lost. */
const KEEP_ALIVE_MS = 600_000

/** The client and the port of a relayed request. */
export interface RelayedRequest {
  readonly address: string
  readonly port: number
  readonly secure: boolean
  /** The version that the client uses; workers use HTTP/1.1 between each other. */
  readonly version: HttpVersion
  /** The port of the configuration that accepted the request. */
  readonly bind: number
}

interface RelayedClientAddress extends ClientAddress {
  readonly bind: number
}

/** Whether another worker accepted the request of this client. */
export function isRelayed(source: ClientAddress): source is RelayedClientAddress {
  return 'bind' in source
}

const NO_CLIENT: RelayedClientAddress = { ...buildClientAddress('', 0, false), bind: -1 }

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
  #lastConnectionId = 0
  /** The limits for clients, and those derived from them for this socket. */
  #clientLimits: PortLimits
  #limits: PortLimits

  constructor(options: RelayListenerOptions) {
    this.#options = options
    this.#clientLimits = options.limits()
    this.#limits = widenLimits(this.#clientLimits)
    this.handler = options.handler
    this.connections = new Sweeper(KEEP_ALIVE_MS)
    this.#server = createServer({ pauseOnConnect: true }, (socket) => this.#accepted(socket))
    this.#server.maxConnections = options.maxConnections
  }

  get limits(): PortLimits {
    const limits = this.#options.limits()
    if (limits !== this.#clientLimits) {
      this.#clientLimits = limits
      this.#limits = widenLimits(limits)
    }
    return this.#limits
  }

  get isDraining(): boolean {
    return this.#state === 'draining'
  }

  async listen(path: string, sockets: ListeningSockets): Promise<void> {
    this.#opened = await sockets.open(this.#server, { path })
    // A failed accept is ignored: the connecting worker retries.
    this.#server.on('error', () => {})
  }

  /** Resolves when the running requests are answered. */
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
    // A head that could not be parsed has no client, and is refused.
    if (text === undefined) return NO_CLIENT
    const { address, port, secure, version, bind } = JSON.parse(text) as RelayedRequest
    head.version = version
    return { ...buildClientAddress(address, port, secure), bind }
  }

  nextConnectionId(): number {
    return ++this.#lastConnectionId
  }

  /** The worker that accepted the client's connection counts it. */
  recordClosed(): void {}

  adoptHttp2(socket: Socket): void {
    socket.destroy()
  }

  #accepted(socket: Socket): void {
    const connection = new Http1Connection(this, NO_CLIENT)
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
