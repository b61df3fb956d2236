// The interfaces between a client connection, the listener that accepted it, and the other workers.

import type { SendHandle } from 'node:child_process'
import type { Socket } from 'node:net'
import type { PortLimits } from '../core/bounds.ts'
import type { Exchange } from '../core/exchange.ts'
import type { ConnectionView } from '../core/runtime-views.ts'
import type { Sweeper, Sweepable } from '../core/sweeper.ts'
import type { DrainMode, ClientAddress, ExchangeHandler } from '../core/types.ts'
import type { RequestHead } from '../core/head.ts'

/** A client connection as its listener sees it. */
export interface ClientConnection extends Sweepable {
  drain(mode: DrainMode): void
  shutDown(): void
  readonly bytesIn: number
  readonly bytesOut: number
  /** Requests in progress. */
  readonly exchanges: Iterable<Exchange>
  describe(now: number): ConnectionView
}

/** A connection that is handed over to another worker of this gateway. */
export interface ConnectionHandover {
  readonly handle: SendHandle
  /** Bytes that were read from the connection and not answered. */
  readonly unread: Buffer
  /** How often the connection was handed over, including this time. */
  readonly handoverCount: number
}

/** The other workers of this gateway, as the connections of one port see them. */
export interface PortPeers {
  /** The worker that owns the session of a request; null if this worker serves the request. */
  findOwner(request: RequestHead): string | null
  /** Whether a connection may be handed over once more, with `unread` bytes. */
  canHandOver(handoverCount: number, unread: number): boolean
  handOver(worker: string, handover: ConnectionHandover): void
}

/** What a client connection needs from the listener that accepted it. */
export interface ConnectionListener {
  readonly limits: PortLimits
  readonly handler: ExchangeHandler
  readonly isSecure: boolean
  readonly isDraining: boolean
  /** The workers that connections can be handed over to; null if there are none. */
  readonly peers: PortPeers | null
  readonly connections: Sweeper<ClientConnection>
  /** The configured port that a client connected to. */
  portFor(source: ClientAddress): number
  /** The client of a request that another worker relays; also restores in the head the client's HTTP version. */
  relayedSourceOf?(request: RequestHead): ClientAddress
  nextConnectionId(): number
  /** Counts a connection that has closed, with its bytes in both directions. */
  recordClosed(source: ClientAddress, bytesIn: number, bytesOut: number): void
  /** Takes over a connection that speaks HTTP/2; the bytes that were read are put back on the socket first. */
  adoptHttp2(socket: Socket, source: ClientAddress): void
}
