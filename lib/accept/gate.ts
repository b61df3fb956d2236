// Who may come in, over all ports: by what the process, the port and the client's address have room for. Asked once for
// each connection, and told once when it is over.

import type { Socket } from 'node:net'
import { addressKey } from '../base/bounds/address-key.ts'
import type { Descriptors } from '../base/bounds/descriptors.ts'
import type { PortLimits } from '../base/bounds/limits.ts'
import type { Limit, Refusals } from '../base/bounds/refusals.ts'
import { Shares } from '../base/bounds/shares.ts'
import type { Peer } from '../base/types.ts'
import { descriptorOf } from '../base/wire/handle.ts'
import { Goodbyes } from './goodbyes.ts'
import { peerOf } from './peer.ts'

/** Where it comes in. */
export interface Entrance {
  readonly limits: PortLimits
  readonly isSecure: boolean
  /** Connections that are open, those in a handshake included. */
  readonly open: number
}

/** What is done about a shortage is done at most so often. */
const RELIEF_MS = 1_000

export class Gate {
  readonly #refusals: Refusals
  readonly #descriptors: Descriptors
  readonly #addresses = new Shares()
  readonly #goodbyes = new Goodbyes()
  /** Gives descriptors back that nobody needs just now. */
  readonly #relieve: () => void
  #relievedAt = -RELIEF_MS

  constructor(refusals: Refusals, descriptors: Descriptors, relieve: () => void) {
    this.#relieve = relieve
    this.#refusals = refusals
    this.#descriptors = descriptors
  }

  /**
   * Who it is; null for one who cannot stay, and has been told why where that is possible. `unread`: what another worker
   * has read of it.
   */
  admit(socket: Socket, entrance: Entrance, unread: Buffer | null = null): Peer | null {
    const peer = peerOf(socket, entrance.isSecure)
    const key = addressKey(peer.address)
    const reached = this.#reachedBy(socket, key, entrance)
    if (reached === null) {
      this.#addresses.take(key)
      return peer
    }
    const [limit, most] = reached
    if (limit === 'descriptors') this.outOfDescriptors()
    else this.#refusals.count(limit, most)
    // A handshake costs more than what there is no room for.
    if (entrance.isSecure) socket.destroy()
    else this.#goodbyes.say(socket, WORDS[limit](most), unread)
    return null
  }

  left(peer: Peer): void {
    this.#addresses.give(addressKey(peer.address))
  }

  /** There is none left for a client that waits, or for a backend. */
  outOfDescriptors(): void {
    this.#refusals.count('descriptors', this.#descriptors.limit)
    const now = performance.now()
    if (now - this.#relievedAt < RELIEF_MS) return
    this.#relievedAt = now
    this.#relieve()
  }

  #reachedBy(socket: Socket, key: string, entrance: Entrance): [Reason, number] | null {
    const { maxConnections, maxConnectionsPerAddress } = entrance.limits
    if (this.#descriptors.isShort(descriptorOf(socket)))
      return ['descriptors', this.#descriptors.limit]
    if (entrance.open >= maxConnections) return ['maxConnections', maxConnections]
    if (this.#addresses.of(key) >= maxConnectionsPerAddress)
      return ['maxConnectionsPerAddress', maxConnectionsPerAddress]
    return null
  }
}

type Reason = Extract<Limit, 'descriptors' | 'maxConnections' | 'maxConnectionsPerAddress'>

const WORDS: Record<Reason, (most: number) => string> = {
  descriptors: (most) => `out of file descriptors: the gateway may open ${most} (ulimit -n)`,
  maxConnections: (most) =>
    `too many connections: ${most} are open on this port (frontendPolicies.http.maxConnections)`,
  maxConnectionsPerAddress: (most) =>
    `too many connections: ${most} are open from your address (frontendPolicies.http.maxConnectionsPerAddress)`,
}
