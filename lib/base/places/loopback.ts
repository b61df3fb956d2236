// Names and addresses that mean this machine.

import { isIP } from 'node:net'

/** Of a host name or an address without brackets. */
export function isLoopback(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower === 'localhost' || lower.endsWith('.localhost') || lower === '::1') return true
  return isIP(lower) === 4 && lower.startsWith('127.')
}

/** The host of `host:port`, without the brackets of IPv6. */
export function hostOf(authority: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(authority)
  return bracketed?.[1] ?? authority.replace(/:\d*$/, '')
}
