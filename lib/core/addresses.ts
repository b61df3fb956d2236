// Names and addresses that mean this machine.

import { isIP } from 'node:net'

/** Of a host name or an address without brackets. */
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

// Whose connection it is, as far as an address tells.

/** An IPv4 address is one client; of IPv6 each has at least a /64 for itself. */
export function addressKeyOf(address: string): string {
  if (!address.includes(':')) return address
  const [start = '', end] = address.split('%', 1)[0]!.split('::')
  const groups = start === '' ? [] : start.split(':')
  if (end !== undefined) {
    const behind = end === '' ? 0 : end.split(':').length
    while (groups.length + behind < GROUPS && groups.length < NETWORK) groups.push('0')
    groups.push(...end.split(':'))
  }
  return `${groups.slice(0, NETWORK).join(':')}::/64`
}

const GROUPS = 8
/** Groups that name the network. */
const NETWORK = 4
