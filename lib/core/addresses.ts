// Loopback and host names, and the key by which clients are told apart.

import { isIP } from 'node:net'

/** `name` is a host name, or an address without brackets. */
export function isLoopback(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower === 'localhost' || lower.endsWith('.localhost') || lower === '::1') return true
  return isIP(lower) === 4 && lower.startsWith('127.')
}

/** The host of `host:port`, without the brackets of IPv6. */
export function hostOfAuthority(authority: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(authority)
  return bracketed?.[1] ?? authority.replace(/:\d*$/, '')
}

const GROUPS = 8
/** Groups of the network part. */
const NETWORK = 4

/** Identifies a client by its address: an IPv4 address, or the /64 network of an IPv6 address. */
export function addressKeyOf(address: string): string {
  if (!address.includes(':')) return address
  const [start = '', end] = address.split('%', 1)[0]!.split('::')
  const groups = start === '' ? [] : start.split(':')
  if (end !== undefined) {
    const afterGap = end === '' ? 0 : end.split(':').length
    while (groups.length + afterGap < GROUPS && groups.length < NETWORK) groups.push('0')
    groups.push(...end.split(':'))
  }
  return `${groups.slice(0, NETWORK).join(':')}::/64`
}
