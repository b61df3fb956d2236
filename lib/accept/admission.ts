// Who may come in, over all ports: by what the process, the port and the client's address have room for. Asked once for
// each connection, and told once when it is over.

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { addressKeyOf } from '../core/addresses.ts'
import type { PortLimits } from '../core/bounds.ts'
import { KeyedCounter } from '../core/byte-budgets.ts'
import type { FileDescriptors } from '../core/descriptors.ts'
import type { LimitName, RefusalCounter } from '../core/refusal-counter.ts'
import { descriptorOf } from '../core/socket-handle.ts'
import type { ClientAddress } from '../core/types.ts'
import { startsLikeHttp2 } from './http1-connection.ts'
import { clientAddressOf } from './listener.ts'

/** Where it comes in. */
export interface AdmissionPort {
  readonly limits: PortLimits
  readonly isSecure: boolean
  /** Connections that are open, those in a handshake included. */
  readonly open: number
}

/** What is done about a shortage is done at most so often. */
const RELIEF_MS = 1_000

export class ConnectionAdmission {
  readonly #refusals: RefusalCounter
  readonly #descriptors: FileDescriptors
  readonly #addresses = new KeyedCounter()
  readonly #goodbyes = new RefusalReplies()
  /** Gives descriptors back that nobody needs just now. */
  readonly #relieve: () => void
  #relievedAt = -RELIEF_MS

  constructor(refusals: RefusalCounter, descriptors: FileDescriptors, relieve: () => void) {
    this.#relieve = relieve
    this.#refusals = refusals
    this.#descriptors = descriptors
  }

  /**
   * Who it is; null for one who cannot stay, and has been told why where that is possible. `unread`: what another worker
   * has read of it.
   */
  admit(
    socket: Socket,
    entrance: AdmissionPort,
    unread: Buffer | null = null,
  ): ClientAddress | null {
    const peer = clientAddressOf(socket, entrance.isSecure)
    const key = addressKeyOf(peer.address)
    const reached = this.#reachedBy(socket, key, entrance)
    if (reached === null) {
      this.#addresses.add(key)
      return peer
    }
    const [limit, most] = reached
    if (limit === 'descriptors') this.reportOutOfDescriptors()
    else this.#refusals.count(limit, most)
    // A handshake costs more than what there is no room for.
    if (entrance.isSecure) socket.destroy()
    else this.#goodbyes.send(socket, WORDS[limit](most), unread)
    return null
  }

  release(peer: ClientAddress): void {
    this.#addresses.subtract(addressKeyOf(peer.address))
  }

  /** There is none left for a client that waits, or for a backend. */
  reportOutOfDescriptors(): void {
    this.#refusals.count('descriptors', this.#descriptors.limit)
    const now = performance.now()
    if (now - this.#relievedAt < RELIEF_MS) return
    this.#relievedAt = now
    this.#relieve()
  }

  #reachedBy(
    socket: Socket,
    key: string,
    entrance: AdmissionPort,
  ): [AdmissionLimit, number] | null {
    const { maxConnections, maxConnectionsPerAddress } = entrance.limits
    if (this.#descriptors.leavesTooFew(descriptorOf(socket)))
      return ['descriptors', this.#descriptors.limit]
    if (entrance.open >= maxConnections) return ['maxConnections', maxConnections]
    if (this.#addresses.get(key) >= maxConnectionsPerAddress)
      return ['maxConnectionsPerAddress', maxConnectionsPerAddress]
    return null
  }
}

type AdmissionLimit = Extract<
  LimitName,
  'descriptors' | 'maxConnections' | 'maxConnectionsPerAddress'
>

const WORDS: Record<AdmissionLimit, (most: number) => string> = {
  descriptors: (most) => `out of file descriptors: the gateway may open ${most} (ulimit -n)`,
  maxConnections: (most) =>
    `too many connections: ${most} are open on this port (frontendPolicies.http.maxConnections)`,
  maxConnectionsPerAddress: (most) =>
    `too many connections: ${most} are open from your address (frontendPolicies.http.maxConnectionsPerAddress)`,
}

// Tells clients for whom there is no room why they are sent away. That costs a moment and a descriptor each, so few are
// told at a time; above that, connections close without a word.

export const MAX_REFUSAL_REPLIES = 16

/** From the connection to its end: for what the client asks, the answer, and its own goodbye. */
const GOODBYE_MS = 1_000
/** Of what a client sends meanwhile. */
const GOODBYE_BYTES = 65_536

/** An empty SETTINGS frame, and a GOAWAY with ENHANCE_YOUR_CALM before the first stream. */
const SETTINGS = Buffer.from('000000040000000000', 'hex')
const GOAWAY = Buffer.from('070000000000000000000000000b', 'hex')

export class RefusalReplies {
  #said = 0

  /** A plain socket from which nothing was read, or by another worker no more than its head. */
  send(socket: Socket, reason: string, unread: Buffer | null = null): void {
    if (this.#said >= MAX_REFUSAL_REPLIES) return void socket.destroy()
    this.#said++
    const timer = setTimeout(() => socket.destroy(), GOODBYE_MS)
    let read = 0
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#said--
      clearTimeout(timer)
    })
    // Behind the request: an answer that is there before it is a fault to some clients.
    const heard = (bytes: Buffer): void => {
      if (read === 0) socket.end(buildRefusal(bytes, reason))
      read += bytes.length
      if (read > GOODBYE_BYTES) socket.destroy()
    }
    if (unread !== null) heard(unread)
    socket.on('data', heard)
    socket.resume()
  }
}

function buildRefusal(bytes: Buffer, reason: string): Buffer {
  if (startsLikeHttp2(bytes, 0, bytes.length)) return buildGoAway(reason)
  const head = [
    `HTTP/1.1 503 ${STATUS_CODES[503]}`,
    'content-type: text/plain',
    `content-length: ${reason.length}`,
    'retry-after: 1',
    'connection: close',
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${reason}`, 'latin1')
}

function buildGoAway(reason: string): Buffer {
  const length = Buffer.alloc(3)
  length.writeUIntBE(8 + reason.length, 0, 3)
  return Buffer.concat([SETTINGS, length, GOAWAY, Buffer.from(reason, 'latin1')])
}
