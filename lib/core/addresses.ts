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

/** Whether a page of the host sent this Origin. The scheme is not compared: a proxy in front may terminate TLS for the listener. */
export function isOriginOfHost(origin: string, authority: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host } = new URL(origin)
  const own = `${protocol}//${authority}`
  return host !== '' && URL.canParse(own) && new URL(own).host === host
}

/** An upper case letter, a dot at the end of the name, or a port that may be the default port. */
const OTHER_AUTHORITY_FORM = /[A-Z]|\.(?::|$)|:0*(?:80|443)?$/

/**
 * The form of a Host by which requests are matched: lower case, without a trailing dot and without the default port.
 * Most hosts already have this form: one test without an allocation.
 */
export function normalizeAuthority(received: string, isSecure: boolean): string {
  if (!OTHER_AUTHORITY_FORM.test(received)) return received
  const { host, port } = parseAuthority(received.toLowerCase())
  const name = host.replace(/\.+$/, '')
  const isDefaultPort = port === '' || Number(port) === (isSecure ? 443 : 80)
  return isDefaultPort ? name : `${name}:${port}`
}

/** `port` is '' when there is none; `host` keeps its case and IPv6 brackets. */
export interface Authority {
  readonly host: string
  readonly port: string
}

export function parseAuthority(text: string): Authority {
  const colon = text.lastIndexOf(':')
  if (colon <= text.lastIndexOf(']')) return { host: text, port: '' }
  return { host: text.substring(0, colon), port: text.substring(colon + 1) }
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
