// Protects the admin interface and the page from hostile web pages: refuses a Host that is not loopback (DNS rebinding),
// foreign origins and requests of other sites.

import { UI_PATH } from '../core/well-known-paths.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { hostOfAuthority, isLoopback } from '../core/addresses.ts'

/** Headers that browsers set and pages cannot. */
export type BrowserHeader = 'origin' | 'sec-fetch-site' | 'sec-fetch-mode' | 'sec-fetch-dest'

export interface BrowserRequest {
  readonly method: string
  /** Without the query, and resolved: it contains no `..`. */
  readonly path: string
  /** Several fields of a name are joined to one value. */
  readonly header: (name: BrowserHeader) => string | undefined
}

/** Allowed values of `sec-fetch-site`; clients other than browsers, and old browsers over plain HTTP, send none. */
const ALLOWED_SITES: readonly (string | undefined)[] = [undefined, 'same-origin', 'none']

/** Why a request is refused, or null. `name` is the interface; `isOwn` recognizes the origins of its own pages. */
export function findCrossSiteRefusal(
  request: BrowserRequest,
  name: string,
  isOwn: (origin: string) => boolean,
): string | null {
  const origin = request.header('origin')
  // Another port of the same host counts as another site, too.
  if (!ALLOWED_SITES.includes(request.header('sec-fetch-site')) && !isFollowedLink(request))
    return `forbidden: ${name} does not answer other sites`
  if (origin !== undefined && !isOwn(origin))
    return `forbidden: ${name} does not answer other origins`
  return null
}

/** A top-level navigation by a link or after a login: the other site cannot read the response. */
function isFollowedLink({ method, path, header }: BrowserRequest): boolean {
  return (
    method === 'GET' &&
    isLinkablePath(path) &&
    header('sec-fetch-mode') === 'navigate' &&
    header('sec-fetch-dest') === 'document'
  )
}

/** Pages that other sites may link to; paths with data are never among them. */
function isLinkablePath(path: string): boolean {
  return path === '/' || path === UI_PATH || path.startsWith(`${UI_PATH}/`)
}

/** `loopback`: only host names of this machine. `open`: bound to other addresses on purpose. `unix`: out of reach for pages. */
export type AdminExposure = 'loopback' | 'open' | 'unix'

export interface AdminRequest {
  readonly method: string
  /** Without the query, and resolved: it contains no `..`. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/**
 * Why a request is refused, or null. A web page can make the browser send requests to loopback, with a foreign Origin or
 * by DNS rebinding of its own name. `name` is the interface.
 */
export function checkAdminRequest(
  { method, path, headers }: AdminRequest,
  exposure: AdminExposure,
  name = 'the admin interface',
): string | null {
  const { host = '' } = headers
  if (exposure === 'loopback' && host !== '' && !isLoopback(hostOfAuthority(host)))
    return `forbidden: Host must be a loopback name such as localhost for ${name}`
  const header = (name: BrowserHeader): string | undefined => headers[name]?.toString()
  return findCrossSiteRefusal(
    { method, path, header },
    name,
    (origin) => origin === `http://${host}`,
  )
}
