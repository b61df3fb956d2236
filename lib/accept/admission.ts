// Admission of connections on all ports: checks the bounds of the process, the port and the client's address, and
// sends a refusal to clients that are over a bound.

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

/** The port on which a connection was accepted. */
export interface AdmissionPort {
  readonly limits: PortLimits
  readonly isSecure: boolean
  /** Open connections, including those in a TLS handshake. */
  readonly open: number
}

/** The minimum time between two calls of `freeDescriptors`. */
const FREE_INTERVAL_MS = 1_000

export class ConnectionAdmission {
  readonly #refusals: RefusalCounter
  readonly #descriptors: FileDescriptors
  readonly #addresses = new KeyedCounter()
  readonly #replies = new RefusalReplies()
  /** Closes descriptors that are not in use now. */
  readonly #freeDescriptors: () => void
  #freedAt = -FREE_INTERVAL_MS

  constructor(refusals: RefusalCounter, descriptors: FileDescriptors, freeDescriptors: () => void) {
    this.#freeDescriptors = freeDescriptors
    this.#refusals = refusals
    this.#descriptors = descriptors
  }

  /**
   * Returns the address of the client, or null for a connection that is refused and already answered or closed.
   * `unread`: bytes that another worker has read from the connection.
   */
  admit(socket: Socket, port: AdmissionPort, unread: Buffer | null = null): ClientAddress | null {
    const client = clientAddressOf(socket, port.isSecure)
    const key = addressKeyOf(client.address)
    const reached = this.#findReachedLimit(socket, key, port)
    if (reached === null) {
      this.#addresses.add(key)
      return client
    }
    const [limit, max] = reached
    if (limit === 'descriptors') this.reportOutOfDescriptors()
    else this.#refusals.count(limit, max)
    // A TLS handshake costs more than the connection that is refused.
    if (port.isSecure) socket.destroy()
    else this.#replies.send(socket, REFUSAL_TEXTS[limit](max), unread)
    return null
  }

  release(client: ClientAddress): void {
    this.#addresses.subtract(addressKeyOf(client.address))
  }

  /** No file descriptor is left for a client or for a connection to a backend. */
  reportOutOfDescriptors(): void {
    this.#refusals.count('descriptors', this.#descriptors.limit)
    const now = performance.now()
    if (now - this.#freedAt < FREE_INTERVAL_MS) return
    this.#freedAt = now
    this.#freeDescriptors()
  }

  #findReachedLimit(
    socket: Socket,
    addressKey: string,
    port: AdmissionPort,
  ): [AdmissionLimit, number] | null {
    const { maxConnections, maxConnectionsPerAddress } = port.limits
    if (this.#descriptors.leavesTooFew(descriptorOf(socket)))
      return ['descriptors', this.#descriptors.limit]
    if (port.open >= maxConnections) return ['maxConnections', maxConnections]
    if (this.#addresses.get(addressKey) >= maxConnectionsPerAddress)
      return ['maxConnectionsPerAddress', maxConnectionsPerAddress]
    return null
  }
}

type AdmissionLimit = Extract<
  LimitName,
  'descriptors' | 'maxConnections' | 'maxConnectionsPerAddress'
>

const REFUSAL_TEXTS: Record<AdmissionLimit, (max: number) => string> = {
  descriptors: (max) => `out of file descriptors: the gateway may open ${max} (ulimit -n)`,
  maxConnections: (max) =>
    `too many connections: ${max} are open on this port (frontendPolicies.http.maxConnections)`,
  maxConnectionsPerAddress: (max) =>
    `too many connections: ${max} are open from your address (frontendPolicies.http.maxConnectionsPerAddress)`,
}

/** Refusals in progress at the same time; connections above this are closed without a reply. */
export const MAX_REFUSAL_REPLIES = 16

/** From accepting the connection to its end: reading the request, sending the reply, the client's close. */
const REFUSAL_DEADLINE_MS = 1_000
/** The maximum of bytes that are read from a refused client. */
const MAX_REFUSED_BYTES = 65_536

/** An empty SETTINGS frame, and a GOAWAY with ENHANCE_YOUR_CALM before the first stream. */
const SETTINGS = Buffer.from('000000040000000000', 'hex')
const GOAWAY = Buffer.from('070000000000000000000000000b', 'hex')

/** Answers refused connections with the reason. Each costs time and a descriptor, so their number is bounded. */
export class RefusalReplies {
  #inProgress = 0

  /** `socket`: plain TCP, unread except for the bytes of `unread`, which another worker has read. */
  send(socket: Socket, reason: string, unread: Buffer | null = null): void {
    if (this.#inProgress >= MAX_REFUSAL_REPLIES) return void socket.destroy()
    this.#inProgress++
    const timer = setTimeout(() => socket.destroy(), REFUSAL_DEADLINE_MS)
    let bytesRead = 0
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#inProgress--
      clearTimeout(timer)
    })
    // The reply is sent after the request: some clients fail on a response that precedes their request.
    const onBytes = (bytes: Buffer): void => {
      if (bytesRead === 0) socket.end(buildRefusal(bytes, reason))
      bytesRead += bytes.length
      if (bytesRead > MAX_REFUSED_BYTES) socket.destroy()
    }
    if (unread !== null) onBytes(unread)
    socket.on('data', onBytes)
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
