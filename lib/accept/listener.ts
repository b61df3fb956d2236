// One open port: accepts connections, keeps count of them, and lets them go when the gateway stops.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { Server as TlsServer, createServer as createTlsServer } from 'node:tls'
import type { SecureContext, TLSSocket } from 'node:tls'
import { TCP_OPTIONS } from '../base/bounds/limits.ts'
import type { PortLimits } from '../base/bounds/limits.ts'
import { bindKey } from '../base/config/bind-key.ts'
import type { Exchange } from '../base/exchange.ts'
import { someOf } from '../base/live/views.ts'
import type { ListenerCounts, ListenerView } from '../base/live/views.ts'
import type { OpenedPort, OpenPort } from '../base/processes/open-port.ts'
import { Sweeper } from '../base/sweeper.ts'
import type { Manner, Peer, Steps } from '../base/types.ts'
import { socketOf } from '../base/wire/handle.ts'
import { Wire } from '../base/wire/socket.ts'
import type { Connection, Door, Leaving, PortNeighbours } from './door.ts'
import type { Entrance, Gate } from './gate.ts'
import { Http1Connection } from './http1.ts'
import { Http2Connection } from './http2.ts'
import { peerOf } from './peer.ts'
import type { Certificates } from './tls.ts'

export interface ListenerOptions {
  address: string
  port: number
  /** Null for a plain listener. */
  certificates: Certificates | null
  limits: PortLimits
  steps: Steps
  readonly openPort: OpenPort
  /** That of all ports. */
  readonly gate: Gate
  /** Null where there are none. */
  readonly neighbours: PortNeighbours | null
  readonly serve: (exchange: Exchange) => void
  /** Somebody has connected. */
  readonly opened: (socket: Socket) => void
  /** The port cannot take a connection just now, for want of file descriptors mostly. */
  readonly troubled: (error: Error) => void
}

export class Listener implements Door, Entrance {
  limits: PortLimits
  readonly steps: Steps
  readonly isSecure: boolean
  readonly neighbours: PortNeighbours | null
  readonly connections: Sweeper<Connection>
  readonly serve: (exchange: Exchange) => void
  readonly #server: Server
  readonly #options: ListenerOptions
  #certificates: Certificates | null
  #opened: OpenedPort | null = null
  #state: 'open' | 'lingering' | 'draining' | 'closed' = 'open'
  /** TLS handshakes under way. */
  #handshakes = 0
  #whenShaken: (() => void) | null = null
  #numbered = 0
  #accepts = 0
  #open = 0
  /** Of connections that are over. */
  #bytesIn = 0
  #bytesOut = 0

  constructor(options: ListenerOptions) {
    const { limits } = options
    this.#options = options
    this.limits = limits
    this.steps = options.steps
    this.serve = options.serve
    this.isSecure = options.certificates !== null
    // Keys and counters of TLS are in this process, and cannot go to another.
    this.neighbours = this.isSecure ? null : options.neighbours
    this.#certificates = options.certificates
    this.connections = new Sweeper(shortestOf(limits))
    this.#server = this.#createServer()
  }

  /** Takes over what a reload changed; connections that stand keep the certificate they were shown. */
  update(limits: PortLimits, certificates: Certificates | null): void {
    this.limits = limits
    this.connections.look(shortestOf(limits))
    if (certificates === null || !(this.#server instanceof TlsServer)) return
    this.#certificates = certificates
    this.#server.setSecureContext(certificates.fallback)
  }

  /** The one the system chose, where the configuration says 0. */
  get port(): number {
    return this.#opened?.port ?? 0
  }

  /** Handshakes under way count too. */
  get open(): number {
    return this.#open
  }

  get isDraining(): boolean {
    return this.#state !== 'open'
  }

  /** Opens the port; a machine without IPv6 gets `0.0.0.0` for `::`. */
  async listen(): Promise<void> {
    const { address, port } = this.#options
    try {
      await this.#listenOn(address, port)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (address !== '::' || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL')) throw error
      await this.#listenOn('0.0.0.0', port)
    }
  }

  /** Stops accepting; idle connections end now, busy ones behind their last answer. Resolves when all are gone. */
  async drain(manner: Manner): Promise<void> {
    this.#state = manner === 'now' ? 'draining' : 'lingering'
    this.#opened?.close()
    for (const connection of this.connections.members) connection.drain(manner)
    if (manner === 'linger' && this.#handshakes > 0)
      await new Promise<void>((resolve) => (this.#whenShaken = resolve))
    await this.connections.empty()
  }

  /** The time is up: what still runs is cut. */
  cut(): void {
    this.#state = 'closed'
    for (const connection of this.connections.members) connection.shutDown()
  }

  /** As the configuration has it. */
  get bind(): number {
    return this.#options.port
  }

  /** A connection that another worker accepted, and counted. */
  adopt({ handle, unread, moves }: Leaving): void {
    const socket = socketOf(handle, { pauseOnCreate: true })
    const source = this.#admit(socket, unread)
    if (source === null) return
    const connection = new Http1Connection(this, source, moves)
    connection.attach(Wire.accepted(socket, connection))
    connection.data(unread, 0, unread.length)
  }

  http2(socket: Socket, source: Peer): void {
    new Http2Connection(this, socket, source)
  }

  number(): number {
    return ++this.#numbered
  }

  carried(source: Peer, bytesIn: number, bytesOut: number): void {
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
    if (!this.isSecure) this.#left(source)
  }

  get counts(): ListenerCounts {
    let bytesIn = this.#bytesIn
    let bytesOut = this.#bytesOut
    const { members } = this.connections
    for (const connection of members) {
      bytesIn += connection.bytesIn
      bytesOut += connection.bytesOut
    }
    return {
      bind: bindKey(this.#options.port),
      state: this.#state === 'lingering' ? 'draining' : this.#state,
      accepted: this.#accepts,
      open: members.size,
      bytesIn,
      bytesOut,
    }
  }

  describe(now: number): ListenerView {
    const { members } = this.connections
    const connections = someOf(members, (connection) => connection.describe(now))
    return { ...this.counts, connections }
  }

  #createServer(): Server {
    if (this.#certificates === null)
      return createServer({ ...TCP_OPTIONS, pauseOnConnect: true }, (socket) =>
        this.#accepted(socket),
      )
    const options = {
      ...TCP_OPTIONS,
      ...this.#certificates.fallback,
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: this.limits.handshakeTimeout,
      SNICallback: (name: string, done: (error: null, context?: SecureContext) => void): void =>
        done(null, this.#certificates?.contextFor(name)),
    }
    const server = createTlsServer(options)
    const [begin] = server.listeners('connection') as ((socket: Socket) => void)[]
    // Node's own begins the handshake: ours stands before it.
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      const source = this.#admit(socket)
      if (source === null) return
      socket.once('close', () => this.#left(source))
      this.#handshakes++
      begin!.call(server, socket)
    })
    server.on('secureConnection', (socket) => this.#secured(socket))
    // Node tells of a handshake that failed or took too long, and leaves the socket to us.
    server.on('tlsClientError', (_error, socket) => {
      this.#shaken()
      socket.destroy()
    })
    return server
  }

  #admit(socket: Socket, unread: Buffer | null = null): Peer | null {
    const isOver = this.isDraining && this.#state !== 'lingering'
    if (isOver) socket.destroy()
    const source = isOver ? null : this.#options.gate.admit(socket, this, unread)
    if (source !== null) this.#open++
    return source
  }

  #shaken(): void {
    this.#handshakes--
    if (this.#handshakes === 0) this.#whenShaken?.()
  }

  #left(source: Peer): void {
    this.#open--
    this.#options.gate.left(source)
  }

  #accepted(socket: Socket): void {
    const source = this.#admit(socket)
    if (source === null) return
    this.#count(socket)
    const connection = new Http1Connection(this, source)
    connection.attach(Wire.accepted(socket, connection))
  }

  #count(socket: Socket): void {
    this.#accepts++
    this.#options.opened(socket)
  }

  #secured(socket: TLSSocket): void {
    this.#welcome(socket)
    this.#shaken()
  }

  #welcome(socket: TLSSocket): void {
    if (this.isDraining && this.#state !== 'lingering') return void socket.destroy()
    this.#count(socket)
    const source = peerOf(socket, true)
    if (socket.alpnProtocol === 'h2') return this.http2(socket, source)
    const connection = new Http1Connection(this, source)
    connection.attach(Wire.secured(socket, connection))
  }

  async #listenOn(host: string, port: number): Promise<void> {
    this.#opened = await this.#options.openPort(this.#server, { host, port })
    this.#server.on('error', this.#options.troubled)
  }
}

function shortestOf(limits: PortLimits): number {
  return Math.min(
    limits.headTimeout,
    limits.bodyIdleTimeout,
    limits.responseIdleTimeout,
    limits.keepAliveTimeout,
  )
}
