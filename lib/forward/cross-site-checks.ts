// Protects MCP and LLM routes from hostile web pages, which can send requests to this machine and to the local network:
// cross-site requests, and DNS rebinding of a page's own name.

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
 * Why a request to an LLM route is refused, or null. MCP routes accept only JSON, which other sites cannot send without a
 * preflight; providers accept any content type and may allow any preflight, so the Origin decides on every listener.
 */
export function checkLlmOrigin(exchange: Exchange): string | null {
  const origin = findForeignOrigin(exchange)
  if (origin === undefined || hasCredentialOfClient(exchange)) return null
  const { request, source } = exchange
  // Over loopback, the same host may be a page that points its own name to this machine.
  if (!isLoopback(source.address) && isOriginOfHost(origin, request.receivedAuthority)) return null
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
