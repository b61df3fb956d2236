// Keeps web pages away from the admin interface: a page a user visits can make the browser ask loopback, by a
// foreign Origin or by a name of its own that it points there.

import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/** `loopback`: only names that mean this machine. `open`: bound elsewhere on purpose. `unix`: no page gets there. */
export type Exposure = 'loopback' | 'open' | 'unix'

/** Why a request is refused, or null. */
export function refusalOf(headers: IncomingHttpHeaders, exposure: Exposure): string | null {
  const { host = '', origin } = headers
  if (exposure === 'loopback' && host !== '' && !isLoopback(nameOf(host)))
    return 'forbidden: the admin interface answers to loopback names only'
  if (headers['sec-fetch-site'] === 'cross-site')
    return 'forbidden: the admin interface does not answer other sites'
  if (origin !== undefined && origin !== `http://${host}`)
    return 'forbidden: the admin interface does not answer other origins'
  return null
}

export function isLoopback(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower === 'localhost' || lower.endsWith('.localhost') || lower === '::1') return true
  return isIP(lower) === 4 && lower.startsWith('127.')
}

/** The host of `host:port`, without the brackets of IPv6. */
function nameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(host)
  return bracketed?.[1] ?? host.replace(/:\d*$/, '')
}
