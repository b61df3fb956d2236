// Fetches small documents, such as those of identity providers, with undici: not on the request path, so its cost is no issue.

import { lookup } from 'node:dns'
import { BlockList } from 'node:net'
import type { LookupFunction } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Agent, Dispatcher } from 'undici'

/** A provider that does not respond within this counts as down. */
const FETCH_TIMEOUT_MS = 5_000

/** Key sets and discovery documents have a few kilobytes. */
export const MAX_DOCUMENT_BYTES = 1_048_576

export interface FetchedDocument {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  /** The body as received; a compressed one stays compressed. */
  readonly bytes: Buffer
  /** Throws if the encoding is not gzip. */
  readonly text: () => string
}

export interface DocumentFetchOptions {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly timeout?: number
}

export type FetchDocument = (
  url: string,
  options?: DocumentFetchOptions,
) => Promise<FetchedDocument>

/** `self`: this process, with any certificate. `unconfigured`: a server that no operator configured, so internal addresses are refused. */
export type FetchedServer = 'configured' | 'self' | 'unconfigured'

/** `fetch` throws if there is no response in time or the response is too large. It does not follow redirects. */
export function createFetcher(server: FetchedServer = 'configured'): {
  fetch: FetchDocument
  close: () => void
} {
  const connect = {
    rejectUnauthorized: server !== 'self',
    ...(server === 'unconfigured' ? { lookup: createExternalLookup() } : {}),
  }
  let dispatcher: Agent | null | 'closed' = null
  const fetch: FetchDocument = async (url, options = {}) => {
    const { method = 'GET', headers = {}, body = null, timeout = FETCH_TIMEOUT_MS } = options
    const signal = AbortSignal.timeout(timeout)
    // undici is large, and most gateways fetch no documents.
    const { Agent, request } = await import('undici')
    if (dispatcher === 'closed') throw new Error('the fetcher is closed')
    dispatcher ??= new Agent({ keepAliveTimeout: 4_000, connections: 16, pipelining: 1, connect })
    const response = await request(url, { method, headers, body, signal, dispatcher })
    const bytes = await readDocumentBytes(response.body)
    const { statusCode: status, headers: fields } = response
    const coding = String(fields['content-encoding'] ?? 'identity')
    return { status, headers: fields, bytes, text: () => decodeDocument(bytes, coding) }
  }
  const close = (): void => {
    if (dispatcher !== null && dispatcher !== 'closed') void dispatcher.destroy()
    dispatcher = 'closed'
  }
  return { fetch, close }
}

/** Some servers compress although the request did not ask for it. Throws for any encoding but gzip. */
function decodeDocument(bytes: Buffer, coding: string): string {
  const name = coding.trim().toLowerCase()
  if (name === 'identity' || name === '' || bytes.length === 0) return bytes.toString()
  if (name !== 'gzip' && name !== 'x-gzip') throw new Error(`content-encoding ${name.slice(0, 32)}`)
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_DOCUMENT_BYTES }).toString()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'ERR_BUFFER_TOO_LARGE' ? new DocumentTooLargeError() : error
  }
}

class DocumentTooLargeError extends Error {
  constructor() {
    super(`more than ${MAX_DOCUMENT_BYTES} bytes`)
  }
}

/** Says, for the client and the log, why a fetch from this host threw. */
export function describeFetchFailure(host: string, error: unknown): string {
  if (error instanceof DocumentTooLargeError) return `${host} sent a document of ${error.message}`
  return `${host} does not respond`
}

async function readDocumentBytes(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_DOCUMENT_BYTES) throw new DocumentTooLargeError()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Internal, reserved and translated networks (RFC 6890, RFC 4193, RFC 6052); an IPv4 address within IPv6 is checked as IPv4. */
const INTERNAL_NETWORKS: readonly (readonly [net: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]

const internalNetworks = new BlockList()
for (const [net, prefix] of INTERNAL_NETWORKS)
  internalNetworks.addSubnet(net, prefix, addressFamilyOf(net))

export class InternalAddressError extends Error {}

/** `address` is without brackets. */
export function isInternalAddress(address: string): boolean {
  return internalNetworks.check(address, addressFamilyOf(address))
}

/** A lookup that refuses internal addresses. It checks when a connection is made, so a name cannot change in between. */
export function createExternalLookup(resolve: typeof lookup = lookup): LookupFunction {
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '')
      if (addresses.some(({ address }) => isInternalAddress(address)))
        return callback(new InternalAddressError(`${name} is an internal address`), '')
      const [first] = addresses
      if (options.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}

/** By its text: Node's own check takes five milliseconds to compile at each start. */
function addressFamilyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}
