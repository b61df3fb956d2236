// One open port: accepts connections, keeps count of them, and lets them go when the gateway stops.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { createSecureContext, createServer as createTlsServer, Server as TlsServer } from 'node:tls'
import type { SecureContext, SecureContextOptions, TLSSocket } from 'node:tls'
import { bindKeyOf } from '../config/bind-key.ts'
import type { ListenerTls } from '../config/config-types.ts'
import { TCP_OPTIONS } from '../core/bounds.ts'
import type { PortLimits } from '../core/bounds.ts'
import type { OpenedPort, OpenPort } from '../core/listening-sockets.ts'
import { limitList } from '../core/runtime-views.ts'
import type { ListenerCounts, ListenerView } from '../core/runtime-views.ts'
import { createSocket } from '../core/socket-handle.ts'
import { Sweeper } from '../core/sweeper.ts'
import type { ClientAddress, DrainMode, ExchangeHandler } from '../core/types.ts'
import { TransportSocket } from '../http/transport-socket.ts'
import type { AdmissionPort, ConnectionAdmission } from './admission.ts'
import type {
  ClientConnection,
  ConnectionHandover,
  ConnectionListener,
  PortPeers,
} from './connection-listener.ts'
import { Http1Connection } from './http1-connection.ts'
import { Http2Connection } from './http2-session.ts'

export interface ListenerOptions {
  address: string
  port: number
  /** Null for a plain listener. */
  certificates: ListenerCertificates | null
  limits: PortLimits
  handler: ExchangeHandler
  readonly openPort: OpenPort
  /** That of all ports. */
  readonly admission: ConnectionAdmission
  /** Null where there are none. */
  readonly peers: PortPeers | null
  /** Somebody has connected. */
  readonly onConnection: (socket: Socket) => void
  /** The port cannot take a connection just now, for want of file descriptors mostly. */
  readonly onAcceptError: (error: Error) => void
}

export class Listener implements ConnectionListener, AdmissionPort {
  limits: PortLimits
  readonly handler: ExchangeHandler
  readonly isSecure: boolean
  readonly peers: PortPeers | null
  readonly connections: Sweeper<ClientConnection>
  readonly #server: Server
  readonly #options: ListenerOptions
  #certificates: ListenerCertificates | null
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
    this.handler = options.handler
    this.isSecure = options.certificates !== null
    // Keys and counters of TLS are in this process, and cannot go to another.
    this.peers = this.isSecure ? null : options.peers
    this.#certificates = options.certificates
    this.connections = new Sweeper(shortestTimeoutOf(limits))
    this.#server = this.#createServer()
  }

  /** Takes over what a reload changed; connections that stand keep the certificate they were shown. */
  update(limits: PortLimits, certificates: ListenerCertificates | null): void {
    this.limits = limits
    this.connections.setShortestDeadline(shortestTimeoutOf(limits))
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
  async drain(manner: DrainMode): Promise<void> {
    this.#state = manner === 'now' ? 'draining' : 'lingering'
    this.#opened?.close()
    for (const connection of this.connections.members) connection.drain(manner)
    if (manner === 'linger' && this.#handshakes > 0)
      await new Promise<void>((resolve) => (this.#whenShaken = resolve))
    await this.connections.whenEmpty()
  }

  /** The time is up: what still runs is cut. */
  cut(): void {
    this.#state = 'closed'
    for (const connection of this.connections.members) connection.shutDown()
  }

  /** As the configuration has it. */
  get configuredPort(): number {
    return this.#options.port
  }

  portFor(): number {
    return this.#options.port
  }

  /** A connection that another worker accepted, and counted. */
  adoptConnection({ handle, unread, handoverCount }: ConnectionHandover): void {
    const socket = createSocket(handle, { pauseOnCreate: true })
    const source = this.#admit(socket, unread)
    if (source === null) return
    const connection = new Http1Connection(this, source, handoverCount)
    connection.attach(TransportSocket.fromAccepted(socket, connection))
    connection.data(unread, 0, unread.length)
  }

  adoptHttp2(socket: Socket, source: ClientAddress): void {
    new Http2Connection(this, socket, source)
  }

  nextConnectionId(): number {
    return ++this.#numbered
  }

  recordClosed(source: ClientAddress, bytesIn: number, bytesOut: number): void {
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
      bind: bindKeyOf(this.#options.port),
      state: this.#state === 'lingering' ? 'draining' : this.#state,
      accepted: this.#accepts,
      open: members.size,
      bytesIn,
      bytesOut,
    }
  }

  describe(now: number): ListenerView {
    const { members } = this.connections
    const connections = limitList(members, (connection) => connection.describe(now))
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

  #admit(socket: Socket, unread: Buffer | null = null): ClientAddress | null {
    const isOver = this.isDraining && this.#state !== 'lingering'
    if (isOver) socket.destroy()
    const source = isOver ? null : this.#options.admission.admit(socket, this, unread)
    if (source !== null) this.#open++
    return source
  }

  #shaken(): void {
    this.#handshakes--
    if (this.#handshakes === 0) this.#whenShaken?.()
  }

  #left(source: ClientAddress): void {
    this.#open--
    this.#options.admission.release(source)
  }

  #accepted(socket: Socket): void {
    const source = this.#admit(socket)
    if (source === null) return
    this.#count(socket)
    const connection = new Http1Connection(this, source)
    connection.attach(TransportSocket.fromAccepted(socket, connection))
  }

  #count(socket: Socket): void {
    this.#accepts++
    this.#options.onConnection(socket)
  }

  #secured(socket: TLSSocket): void {
    this.#welcome(socket)
    this.#shaken()
  }

  #welcome(socket: TLSSocket): void {
    if (this.isDraining && this.#state !== 'lingering') return void socket.destroy()
    this.#count(socket)
    const source = clientAddressOf(socket, true)
    if (socket.alpnProtocol === 'h2') return this.adoptHttp2(socket, source)
    const connection = new Http1Connection(this, source)
    connection.attach(TransportSocket.fromSecured(socket, connection))
  }

  async #listenOn(host: string, port: number): Promise<void> {
    this.#opened = await this.#options.openPort(this.#server, { host, port })
    this.#server.on('error', this.#options.onAcceptError)
  }
}

function shortestTimeoutOf(limits: PortLimits): number {
  return Math.min(
    limits.headTimeout,
    limits.bodyIdleTimeout,
    limits.responseIdleTimeout,
    limits.keepAliveTimeout,
  )
}

// Certificates of a listener: which one a client gets by the name it asks for.

export interface ListenerCertificate {
  /** Exact, `*.suffix`, or '' for any. */
  readonly hostname: string
  readonly tls: ListenerTls
}

/** The certificates in force; a reload replaces them while the port stays open. */
export class ListenerCertificates {
  readonly #first: ListenerTls
  readonly #contexts: readonly NamedContext[]

  constructor(certificates: readonly ListenerCertificate[]) {
    this.#first = certificates[0]!.tls
    this.#contexts = certificates.map(({ hostname, tls }) => ({
      hostname,
      context: createContext(tls),
    }))
  }

  /** For clients that name nobody: the first one. */
  get fallback(): SecureContextOptions {
    return toContextOptions(this.#first)
  }

  /** Undefined leaves the fallback. */
  contextFor(name: string): SecureContext | undefined {
    return findContext(this.#contexts, name.toLowerCase())
  }
}

interface NamedContext {
  readonly hostname: string
  readonly context: SecureContext
}

/** Exact before the longest wildcard before any; undefined leaves the default. */
function findContext(contexts: readonly NamedContext[], name: string): SecureContext | undefined {
  let best: NamedContext | undefined
  for (const candidate of contexts) {
    const { hostname } = candidate
    if (hostname === name) return candidate.context
    const fits =
      hostname === '' || (hostname.startsWith('*.') && name.endsWith(hostname.substring(1)))
    if (fits && (best === undefined || hostname.length > best.hostname.length)) best = candidate
  }
  return best?.context
}

function createContext(tls: ListenerTls): SecureContext {
  return createSecureContext(toContextOptions(tls))
}

function toContextOptions(tls: ListenerTls): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    maxVersion: tls.maxVersion,
  }
}

// Who is at the other end of an accepted socket.

export function clientAddressOf(socket: Socket, secure: boolean): ClientAddress {
  const raw = socket.remoteAddress ?? ''
  // A dual-stack listener shows IPv4 clients in IPv6's clothes.
  const address = raw.startsWith('::ffff:') ? raw.substring(7) : raw
  return buildClientAddress(address, socket.remotePort ?? 0, secure)
}

export function buildClientAddress(address: string, port: number, secure: boolean): ClientAddress {
  return {
    address,
    port,
    label: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    secure,
  }
}
