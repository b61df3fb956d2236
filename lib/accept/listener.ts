// One open port with its certificates: accepts and counts connections, and drains them when the gateway stops.

import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { createSecureContext, createServer as createTlsServer, Server as TlsServer } from 'node:tls'
import type { SecureContext, SecureContextOptions, TLSSocket } from 'node:tls'
import { bindKeyOf } from '../config/bind-key.ts'
import type { ListenerTls } from '../config/config-types.ts'
import { normalizeAuthority } from '../core/addresses.ts'
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
  /** Shared by all ports. */
  readonly admission: ConnectionAdmission
  /** Null in a gateway of one process. */
  readonly peers: PortPeers | null
  readonly onConnection: (socket: Socket) => void
  /** The port could not accept a connection, mostly because no file descriptor was left. */
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
  /** TLS handshakes in progress. */
  #handshakes = 0
  #onHandshakesDone: (() => void) | null = null
  #lastConnectionId = 0
  #accepted = 0
  #open = 0
  /** Bytes of closed connections. */
  #bytesIn = 0
  #bytesOut = 0

  constructor(options: ListenerOptions) {
    const { limits } = options
    this.#options = options
    this.limits = limits
    this.handler = options.handler
    this.isSecure = options.certificates !== null
    // The TLS state of a connection is in this process and cannot be handed over.
    this.peers = this.isSecure ? null : options.peers
    this.#certificates = options.certificates
    this.connections = new Sweeper(shortestTimeoutOf(limits))
    this.#server = this.#createServer()
  }

  /** Applies a reload; open connections keep the certificate of their handshake. */
  update(limits: PortLimits, certificates: ListenerCertificates | null): void {
    this.limits = limits
    this.connections.setShortestDeadline(shortestTimeoutOf(limits))
    if (certificates === null || !(this.#server instanceof TlsServer)) return
    this.#certificates = certificates
    this.#server.setSecureContext(certificates.fallback)
  }

  /** The port that is open; chosen by the system if 0 is configured. */
  get port(): number {
    return this.#opened?.port ?? 0
  }

  /** Open connections, including those in a TLS handshake. */
  get open(): number {
    return this.#open
  }

  get isDraining(): boolean {
    return this.#state !== 'open'
  }

  /** Opens the port; on a machine without IPv6 `::` becomes `0.0.0.0`. */
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

  /** Stops accepting; idle connections close now, busy ones after their last response. Resolves when all are closed. */
  async drain(mode: DrainMode): Promise<void> {
    this.#state = mode === 'now' ? 'draining' : 'lingering'
    this.#opened?.close()
    for (const connection of this.connections.members) connection.drain(mode)
    if (mode === 'linger' && this.#handshakes > 0)
      await new Promise<void>((resolve) => (this.#onHandshakesDone = resolve))
    await this.connections.whenEmpty()
  }

  /** Closes all connections that are still open. */
  cut(): void {
    this.#state = 'closed'
    for (const connection of this.connections.members) connection.shutDown()
  }

  get configuredPort(): number {
    return this.#options.port
  }

  portFor(): number {
    return this.#options.port
  }

  /** Takes over a connection that another worker accepted and counted. */
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
    return ++this.#lastConnectionId
  }

  recordClosed(source: ClientAddress, bytesIn: number, bytesOut: number): void {
    this.#bytesIn += bytesIn
    this.#bytesOut += bytesOut
    if (!this.isSecure) this.#release(source)
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
      accepted: this.#accepted,
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
        this.#acceptPlain(socket),
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
    const [startHandshake] = server.listeners('connection') as ((socket: Socket) => void)[]
    // Node's own listener starts the handshake; admission must come before it.
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      const source = this.#admit(socket)
      if (source === null) return
      socket.once('close', () => this.#release(source))
      this.#handshakes++
      startHandshake!.call(server, socket)
    })
    server.on('secureConnection', (socket) => {
      this.#acceptSecure(socket)
      this.#endHandshake()
    })
    // Node reports a handshake that failed or timed out, and does not close the socket.
    server.on('tlsClientError', (_error, socket) => {
      this.#endHandshake()
      socket.destroy()
    })
    return server
  }

  #admit(socket: Socket, unread: Buffer | null = null): ClientAddress | null {
    if (!this.#acceptsConnections) {
      socket.destroy()
      return null
    }
    const source = this.#options.admission.admit(socket, this, unread)
    if (source !== null) this.#open++
    return source
  }

  get #acceptsConnections(): boolean {
    return this.#state === 'open' || this.#state === 'lingering'
  }

  #endHandshake(): void {
    this.#handshakes--
    if (this.#handshakes === 0) this.#onHandshakesDone?.()
  }

  #release(source: ClientAddress): void {
    this.#open--
    this.#options.admission.release(source)
  }

  #acceptPlain(socket: Socket): void {
    const source = this.#admit(socket)
    if (source === null) return
    this.#count(socket)
    const connection = new Http1Connection(this, source)
    connection.attach(TransportSocket.fromAccepted(socket, connection))
  }

  #acceptSecure(socket: TLSSocket): void {
    if (!this.#acceptsConnections) return void socket.destroy()
    this.#count(socket)
    const source = clientAddressOf(socket, true)
    if (socket.alpnProtocol === 'h2') return this.adoptHttp2(socket, source)
    const connection = new Http1Connection(this, source)
    connection.attach(TransportSocket.fromSecured(socket, connection))
  }

  #count(socket: Socket): void {
    this.#accepted++
    this.#options.onConnection(socket)
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

export interface ListenerCertificate {
  /** Exact, `*.suffix`, or '' for any name. */
  readonly hostname: string
  readonly tls: ListenerTls
}

/** The certificates of a listener, chosen by SNI; a reload replaces them while the port stays open. */
export class ListenerCertificates {
  readonly #first: ListenerTls
  readonly #contexts: readonly NamedContext[]

  constructor(certificates: readonly ListenerCertificate[]) {
    this.#first = certificates[0]!.tls
    this.#contexts = certificates.map(({ hostname, tls }) => ({
      hostname,
      context: createSecureContext(toContextOptions(tls)),
    }))
  }

  /** The first certificate, for clients that do not send SNI. */
  get fallback(): SecureContextOptions {
    return toContextOptions(this.#first)
  }

  /** The exact name, else the longest wildcard, else ''. Undefined makes node use the fallback. */
  contextFor(serverName: string): SecureContext | undefined {
    const name = normalizeAuthority(serverName, true)
    let best: NamedContext | undefined
    for (const candidate of this.#contexts) {
      const { hostname } = candidate
      if (hostname === name) return candidate.context
      const isMatch =
        hostname === '' || (hostname.startsWith('*.') && name.endsWith(hostname.substring(1)))
      if (isMatch && (best === undefined || hostname.length > best.hostname.length))
        best = candidate
    }
    return best?.context
  }
}

interface NamedContext {
  readonly hostname: string
  readonly context: SecureContext
}

function toContextOptions(tls: ListenerTls): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    maxVersion: tls.maxVersion,
  }
}

export function clientAddressOf(socket: Socket, secure: boolean): ClientAddress {
  const raw = socket.remoteAddress ?? ''
  // A dual-stack listener reports IPv4 clients as IPv4-mapped IPv6 addresses.
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
