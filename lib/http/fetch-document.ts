// Small documents of identity providers, over undici: off the path of requests, so its comfort costs nothing.

import { lookup } from 'node:dns'
import { BlockList } from 'node:net'
import type { LookupFunction } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Agent, Dispatcher } from 'undici'

/** A provider must answer within this, or counts as down. */
const FETCH_TIMEOUT_MS = 5_000

/** Key sets and discovery documents have some kilobytes. */
export const MAX_DOCUMENT_BYTES = 1_048_576

export interface FetchedDocument {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  /** As they came; what is packed stays so. */
  readonly bytes: Buffer
  /** Throws where they are packed by other means than gzip. */
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

/** `ours`: this very process is asked, by whatever certificate. `strangers`: nobody configured them, so none is inside. */
export type FetchedServer = 'theirs' | 'ours' | 'strangers'

/** Throws when there is no answer in time, or one too large. Redirects are answers like any other. */
export function createFetcher(asked: FetchedServer = 'theirs'): {
  fetch: FetchDocument
  close: () => void
} {
  const connect = {
    rejectUnauthorized: asked !== 'ours',
    ...(asked === 'strangers' ? { lookup: createExternalLookup() } : {}),
  }
  let dispatcher: Agent | null | 'closed' = null
  const fetch: FetchDocument = async (url, options = {}) => {
    const { method = 'GET', headers = {}, body = null, timeout = FETCH_TIMEOUT_MS } = options
    const signal = AbortSignal.timeout(timeout)
    // A large library, and most gateways ask nobody.
    const { Agent, request } = await import('undici')
    if (dispatcher === 'closed') throw new Error('nobody waits for an answer any more')
    dispatcher ??= new Agent({ keepAliveTimeout: 4_000, connections: 16, pipelining: 1, connect })
    const answer = await request(url, { method, headers, body, signal, dispatcher })
    const bytes = await readDocumentBytes(answer.body)
    const { statusCode: status, headers: fields } = answer
    const coding = String(fields['content-encoding'] ?? 'identity')
    return { status, headers: fields, bytes, text: () => decodeDocument(bytes, coding) }
  }
  const close = (): void => {
    if (dispatcher !== null && dispatcher !== 'closed') void dispatcher.destroy()
    dispatcher = 'closed'
  }
  return { fetch, close }
}

/** Some servers pack what nobody asked them to pack. Throws for any other coding than gzip. */
function decodeDocument(bytes: Buffer, coding: string): string {
  const name = coding.trim().toLowerCase()
  if (name === 'identity' || name === '' || bytes.length === 0) return bytes.toString()
  if (name !== 'gzip' && name !== 'x-gzip') throw new Error(`content-encoding ${name.slice(0, 32)}`)
  return gunzipSync(bytes, { maxOutputLength: MAX_DOCUMENT_BYTES }).toString()
}

async function readDocumentBytes(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_DOCUMENT_BYTES) throw new Error(`more than ${MAX_DOCUMENT_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

// Hosts of the world outside: what a stranger's document names must not lead to this machine or to the network it is in.

/** Of this machine, its network, or nobody (RFC 6890, RFC 4193, RFC 6052); an IPv4 address within IPv6 counts as itself. */
const INNER: readonly (readonly [net: string, prefix: number])[] = [
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

const inner = new BlockList()
for (const [net, prefix] of INNER) inner.addSubnet(net, prefix, addressFamilyOf(net))

export class InternalAddressError extends Error {}

/** Of an address without brackets. */
export function isInternalAddress(address: string): boolean {
  return inner.check(address, addressFamilyOf(address))
}

/** For connections: looked at when one is made, so that a name cannot lead elsewhere a moment later. */
export function createExternalLookup(resolve: typeof lookup = lookup): LookupFunction {
  return (name, options, told) => {
    resolve(name, { ...options, all: true }, (error, found) => {
      if (error !== null) return told(error, '')
      if (found.some(({ address }) => isInternalAddress(address)))
        return told(new InternalAddressError(`${name} is inside`), '')
      const [first] = found
      if (options.all === true) told(null, found)
      else told(null, first?.address ?? '', first?.family)
    })
  }
}

/** By its look: what Node knows them by takes five milliseconds of each start to compile. */
function addressFamilyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}
