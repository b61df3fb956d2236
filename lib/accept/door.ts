// What a connection needs to know of the place it came in by.

import type { SendHandle } from 'node:child_process'
import type { Socket } from 'node:net'
import type { PortLimits } from '../base/bounds/limits.ts'
import type { Exchange } from '../base/exchange.ts'
import type { ConnectionView } from '../base/live/views.ts'
import type { Sweeper, Swept } from '../base/sweeper.ts'
import type { Manner, Peer, Steps } from '../base/types.ts'
import type { RequestHead } from '../base/wire/head.ts'

/** A connection as the listener sees it: to be swept, drained, and cut at the end. */
export interface Connection extends Swept {
  drain(manner: Manner): void
  shutDown(): void
  /** That came and went so far. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** Requests in work. */
  readonly exchanges: Iterable<Exchange>
  describe(now: number): ConnectionView
}

/** A connection on its way to another worker of this gateway. */
export interface Leaving {
  readonly handle: SendHandle
  /** What was read of it and not answered. */
  readonly unread: Buffer
  /** How often it changed hands, this time included. */
  readonly moves: number
}

/** The other workers of this gateway, as the connections of one port see them. */
export interface PortNeighbours {
  /** Who has the session that a request names; null when it is served here. */
  ownerOf(request: RequestHead): string | null
  /** Whether a connection may go that has changed hands so often, with so many bytes. */
  mayGive(moves: number, unread: number): boolean
  give(worker: string, leaving: Leaving): void
}

export interface Door {
  readonly limits: PortLimits
  readonly steps: Steps
  readonly isSecure: boolean
  readonly isDraining: boolean
  /** To whom connections may be given; null for nobody. */
  readonly neighbours: PortNeighbours | null
  readonly connections: Sweeper<Connection>
  readonly serve: (exchange: Exchange) => void
  /** Whose a request is, where that is not who has connected; has the head say what that one spoke. */
  sourceOf?(request: RequestHead): Peer
  /** Tells connections of this place apart. */
  number(): number
  /** A connection of theirs is over; so much came and went on it. */
  carried(source: Peer, bytesIn: number, bytesOut: number): void
  /** Takes over a connection that speaks HTTP/2; what was read of it is put back first. */
  http2(socket: Socket, source: Peer): void
}
