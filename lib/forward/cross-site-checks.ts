// Protects MCP and LLM routes from hostile web pages, which can send requests to this machine and to the local network:
// cross-site requests, and DNS rebinding of a page's own name.

import { isIP } from 'node:net'
import { hostOfAuthority, isLoopback, isOriginOfHost } from '../core/addresses.ts'
import type { Exchange } from '../core/exchange.ts'

/**
 * `strict`: Host must be a loopback name and Origin a loopback origin or one that `cors` allows.
 * `pages`: only requests over loopback with an Origin are checked; without an Origin it is not a web page.
 */
export type RebindingProtection = 'off' | 'pages' | 'strict'

/** Why a request to an MCP route is refused, or null. A page whose name points to this machine sends that name in Host and Origin. */
export function checkRebinding(exchange: Exchange, protection: RebindingProtection): string | null {
  if (protection === 'off') return null
  const { request, source } = exchange
  if (protection === 'strict' && !isLoopback(hostOfAuthority(request.authority)))
    return `Host '${request.receivedAuthority}' is not a loopback name: see dnsRebindingProtection`
  const origin = findForeignOrigin(exchange)
  if (origin === undefined || (protection === 'pages' && !isLoopback(source.address))) return null
  return `Origin '${origin}' is not allowed: add it to cors, or see dnsRebindingProtection`
}

/**
 * The hosts of an LLM route. `named`: the route or its listener has hostnames, so that a page cannot reach it by a name of
 * its own. `loopback`: it has none, and the listener is open to this machine only.
 */
export type LlmHosts = 'named' | 'loopback' | 'any'

/** Pages send no Origin with these methods to their own host. */
const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/**
 * Why a request to an LLM route is refused, or null. MCP routes accept only JSON, which other sites cannot send without a
 * preflight; providers accept any content type and may allow any preflight, so the Origin decides on every listener.
 */
export function checkLlmOrigin(exchange: Exchange, hosts: LlmHosts): string | null {
  if (hasCredentialOfClient(exchange)) return null
  const { request } = exchange
  const host = hostOfAuthority(request.authority)
  const isTrusted = hosts === 'named' || isIP(host) !== 0
  const origin = findForeignOrigin(exchange)
  if (origin === undefined) {
    const mayBePage = hosts === 'loopback' && !request.has('origin') && !isTrusted
    if (!mayBePage || !READ_METHODS.has(request.method) || isLoopback(host)) return null
    return `Host '${request.receivedAuthority}' is not a loopback name: add it to hostnames of the route`
  }
  if (isTrusted && isOriginOfHost(origin, request.receivedAuthority)) return null
  return `Origin '${origin}' is not allowed on this LLM route: add it to cors.allowOrigins`
}

/** The first Origin that is neither of this machine nor allowed by `cors`. */
function findForeignOrigin({ request, enforcement }: Exchange): string | undefined {
  if (!request.has('origin')) return undefined
  const { allowedOrigin } = enforcement
  return request
    .getAll('origin')
    .find((value) => value === '' || (value !== allowedOrigin && !isLoopbackOrigin(value)))
}

function isLoopbackOrigin(origin: string): boolean {
  const [, authority] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? []
  return authority !== undefined && isLoopback(hostOfAuthority(authority))
}

/** A verified token or key that a page must know; browsers add cookies and passwords by themselves. */
function hasCredentialOfClient({ enforcement, facts }: Exchange): boolean {
  return (
    facts?.basicAuth === undefined &&
    enforcement.verifiedCredentials.some(({ kind }) => kind !== 'cookie')
  )
}
