// Where documents about a login may lead: to the provider that is configured, to documents of the gateway itself, or over
// TLS to a host of the world outside. Whoever writes such a document must not make this process ask its neighbours.

import { isIP } from 'node:net'
import type { AdminAddress } from '../../config/config-types.ts'
import { isLoopback } from '../../core/addresses.ts'
import { isDocument } from './destination.ts'

/** Whom an address belongs to; `nobody` is not to be asked. */
export type Reach = 'ours' | 'theirs' | 'strangers' | 'nobody'

export interface Homes {
  readonly issuer: string
  readonly resource: string
  /** Addresses of this process that are for its operators. */
  readonly operators: readonly AdminAddress[]
}

export function reachOf(written: string, { issuer, resource, operators }: Homes): Reach {
  if (!URL.canParse(written)) return 'nobody'
  const url = new URL(written)
  const { origin, protocol, hostname, pathname, username, password } = url
  const home = new URL(issuer)
  if (username !== '' || password !== '' || isForOperators(url, operators)) return 'nobody'
  if (origin === new URL(resource).origin && isDocument(pathname)) return 'ours'
  if (origin === home.origin) return 'theirs'
  const name = bare(hostname)
  if (protocol !== 'https:' || isLoopback(name)) return 'nobody'
  if (hostname === home.hostname) return 'theirs'
  return isIP(name) === 0 ? 'strangers' : 'nobody'
}

function isForOperators(url: URL, operators: readonly AdminAddress[]): boolean {
  const name = bare(url.hostname)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  return operators.some((one) => {
    if (one.kind === 'off' || one.kind === 'unix' || one.port !== port) return false
    return isLoopback(name) || (one.kind === 'tcp' && (isIP(name) !== 0 || one.host === name))
  })
}

/** Without the brackets of IPv6. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
