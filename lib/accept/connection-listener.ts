// What a connection needs to know of the place it came in by.

import type { SendHandle } from 'node:child_process'
import type { Socket } from 'node:net'
import type { PortLimits } from '../core/bounds.ts'
import type { Exchange } from '../core/exchange.ts'
import type { ConnectionView } from '../core/runtime-views.ts'
import type { Sweeper, Sweepable } from '../core/sweeper.ts'
import type { DrainMode, ClientAddress, ExchangeHandler } from '../core/types.ts'
import type { RequestHead } from '../core/head.ts'

/** A connection as the listener sees it: to be swept, drained, and cut at the end. */
export interface ClientConnection extends Sweepable {
  drain(manner: DrainMode): void
  shutDown(): void
  /** That came and went so far. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Requests in work. */
  readonly exchanges: Iterable<Exchange>
  describe(now: number): ConnectionView
}

/** A connection on its way to another worker of this gateway. */
export interface ConnectionHandover {
  readonly handle: SendHandle
  /** What was read of it and not answered. */
  readonly unread: Buffer
  /** How often it changed hands, this time included. */
  readonly handoverCount: number
}

/** The other workers of this gateway, as the connections of one port see them. */
export interface PortPeers {
  /** Who has the session that a request names; null when it is served here. */
  findOwner(request: RequestHead): string | null
  /** Whether a connection may go that has changed hands so often, with so many bytes. */
  canHandOver(moves: number, unread: number): boolean
  handOver(worker: string, leaving: ConnectionHandover): void
}

export interface ConnectionListener {
  readonly limits: PortLimits
  readonly handler: ExchangeHandler
  readonly isSecure: boolean
  readonly isDraining: boolean
  /** To whom connections may be given; null for nobody. */
  readonly peers: PortPeers | null
  readonly connections: Sweeper<ClientConnection>
  /** The configured port that a client connected to. */
  portFor(source: ClientAddress): number
  /** Whose a request is, where that is not who has connected; has the head say what that one spoke. */
  relayedSourceOf?(request: RequestHead): ClientAddress
  /** Tells connections of this place apart. */
  nextConnectionId(): number
  /** A connection of theirs is over; so much came and went on it. */
  recordClosed(source: ClientAddress, bytesIn: number, bytesOut: number): void
  /** Takes over a connection that speaks HTTP/2; what was read of it is put back first. */
  adoptHttp2(socket: Socket, source: ClientAddress): void
}
