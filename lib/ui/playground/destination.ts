// The listener that a request of the playground goes to, over loopback: this process talks to itself, so that policies,
// traces and logs see what they see of any client.

import { isIP } from 'node:net'
import { RESOURCE_METADATA_PATH, SERVER_METADATA_PATH } from '../../core/well-known-paths.ts'
import type { McpLocation } from '../../admin/page-api/mcp-locations.ts'

export interface Destination {
  readonly protocol: 'http:' | 'https:'
  readonly address: string
  readonly port: number
  /** What it says as Host. */
  readonly authority: string
  /** What it asks for in TLS; '' for nothing. */
  readonly servername: string
}

/** More than any route needs, and within the texts that a regex of the configuration may be run on. */
const MAX_PATH = 1_024

const DOCUMENTS = [RESOURCE_METADATA_PATH, SERVER_METADATA_PATH]

/** No query, no fragment, nothing to be decoded into a way up or out. */
const PLAIN_PATH = /^\/(?!\/)[\w\-.~!$&'()*+,;=:@/]*$/
const GOES_UP = /(?:^|\/)\.{1,2}(?:\/|$)/

export function destinationOf({ gateway, listener, hostname }: McpLocation): Destination {
  const { port, address } = gateway
  const protocol = listener.protocol === 'HTTPS' ? 'https:' : 'http:'
  const name = hostname === '' ? 'localhost' : hostname
  return {
    protocol,
    address: reached(address),
    port,
    authority: `${name}:${port}`,
    servername: isIP(name) === 0 ? name : '',
  }
}

function isPlainPath(path: string): boolean {
  return path.length <= MAX_PATH && PLAIN_PATH.test(path) && !GOES_UP.test(path)
}

/** Where clients find the backend, and nothing else: below it there may be other routes. */
export function mayAsk(place: McpLocation, path: string): boolean {
  return isPlainPath(path) && path === place.path
}

export function isDocument(path: string): boolean {
  return DOCUMENTS.some((root) => path === root || path.startsWith(`${root}/`))
}

/** Where a listener that is bound to everything is to be had: `::` takes both kinds. */
function reached(address: string): string {
  return address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address
}
