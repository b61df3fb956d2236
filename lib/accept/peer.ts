// Who is at the other end of an accepted socket.

import type { Socket } from 'node:net'
import type { Peer } from '../base/types.ts'

export function peerOf(socket: Socket, secure: boolean): Peer {
  const raw = socket.remoteAddress ?? ''
  // A dual-stack listener shows IPv4 clients in IPv6's clothes.
  const address = raw.startsWith('::ffff:') ? raw.substring(7) : raw
  return peerFrom(address, socket.remotePort ?? 0, secure)
}

export function peerFrom(address: string, port: number, secure: boolean): Peer {
  return {
    address,
    port,
    label: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    secure,
  }
}
