// The listener that serves an MCP backend, as the destination of playground requests: they pass through it like those of
// any client, so that policies, traces and logs apply.

import { isIP } from 'node:net'
import { RESOURCE_METADATA_PATH, SERVER_METADATA_PATH } from '../../core/well-known-paths.ts'
import type { McpLocation } from '../page-api/mcp-locations.ts'

export interface Destination {
  readonly protocol: 'http:' | 'https:'
  readonly address: string
  readonly port: number
  /** Value of the Host header. */
  readonly authority: string
  /** Server name for TLS; '' for none. */
  readonly servername: string
}

/** More than a route needs, and short enough for a regex of the configuration. */
const MAX_PATH_CHARS = 1_024

const DOCUMENT_PATHS = [RESOURCE_METADATA_PATH, SERVER_METADATA_PATH]

/** No query, no fragment, and no percent-encoding that could decode to another path. */
const PLAIN_PATH = /^\/(?!\/)[\w\-.~!$&'()*+,;=:@/]*$/
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/

export function destinationOf({ gateway, listener, hostname }: McpLocation): Destination {
  const { port, address } = gateway
  const protocol = listener.protocol === 'HTTPS' ? 'https:' : 'http:'
  const name = hostname === '' ? 'localhost' : hostname
  return {
    protocol,
    address: connectAddress(address),
    port,
    authority: `${name}:${port}`,
    servername: isIP(name) === 0 ? name : '',
  }
}

function isPlainPath(path: string): boolean {
  return path.length <= MAX_PATH_CHARS && PLAIN_PATH.test(path) && !DOT_SEGMENT.test(path)
}

/** Only the exact path of the backend: other routes may be below it. */
export function isAllowedPath(location: McpLocation, path: string): boolean {
  return isPlainPath(path) && path === location.path
}

export function isDocument(path: string): boolean {
  return DOCUMENT_PATHS.some((root) => path === root || path.startsWith(`${root}/`))
}

/** A listener that is bound to all addresses is reachable on loopback; `::` accepts IPv4 too. */
function connectAddress(address: string): string {
  return address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address
}
