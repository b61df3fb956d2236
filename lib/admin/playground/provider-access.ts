// Sends the requests of a login to the gateway and the provider, and checks which hosts it may call: a document of a
// provider must not make this process send requests into its own network.

import { isIP } from 'node:net'
import type { AdminAddress } from '../../config/config-types.ts'
import { isLoopback } from '../../core/addresses.ts'
import type { FetchDocument, DocumentFetchOptions } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import { InternalAddressError } from '../../http/fetch-document.ts'
import { isDocument } from './listener-destination.ts'
import type { Destination } from './listener-destination.ts'

/** `client`: the provider does not register clients, so the page must ask for a client id. */
export type LoginErrorKind = 'provider' | 'request' | 'client'

export class LoginError extends Error {
  readonly kind: LoginErrorKind

  constructor(message: string, kind: LoginErrorKind = 'provider') {
    super(message)
    this.kind = kind
  }
}

/** Which kind of host a URL names; `forbidden` hosts are never called. */
export type HostKind = 'gateway' | 'provider' | 'public' | 'forbidden'

export interface KnownHosts {
  readonly issuer: string
  readonly resource: string
  /** Admin addresses of this process. */
  readonly operators: readonly AdminAddress[]
}

export function hostKindOf(text: string, { issuer, resource, operators }: KnownHosts): HostKind {
  if (!URL.canParse(text)) return 'forbidden'
  const url = new URL(text)
  const { origin, protocol, hostname, pathname, username, password } = url
  const issuerUrl = new URL(issuer)
  if (username !== '' || password !== '' || isAdminAddress(url, operators)) return 'forbidden'
  if (origin === new URL(resource).origin && isDocument(pathname)) return 'gateway'
  if (origin === issuerUrl.origin) return 'provider'
  const name = withoutBrackets(hostname)
  if (protocol !== 'https:' || isLoopback(name)) return 'forbidden'
  if (hostname === issuerUrl.hostname) return 'provider'
  return isIP(name) === 0 ? 'public' : 'forbidden'
}

function isAdminAddress(url: URL, operators: readonly AdminAddress[]): boolean {
  const name = withoutBrackets(url.hostname)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  return operators.some((address) => {
    if (address.kind === 'off' || address.kind === 'unix' || address.port !== port) return false
    return (
      isLoopback(name) || (address.kind === 'tcp' && (isIP(name) !== 0 || address.host === name))
    )
  })
}

/** Removes the brackets of an IPv6 address. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

export interface LoginFetchers {
  readonly provider: FetchDocument
  readonly gateway: FetchDocument
  readonly public: FetchDocument
}

export interface FetchedText {
  readonly status: number
  readonly text: string
}

export type Members = Readonly<Record<string, unknown>>

export class ProviderAccess {
  readonly #fetches: LoginFetchers
  readonly #listener: Destination
  readonly #hosts: KnownHosts

  constructor(fetches: LoginFetchers, listener: Destination, hosts: KnownHosts) {
    this.#fetches = fetches
    this.#listener = listener
    this.#hosts = hosts
  }

  hostKindOf(url: string): HostKind {
    return hostKindOf(url, this.#hosts)
  }

  /** Fetches the first of these documents that exists. */
  async fetchFirstDocument(urls: readonly string[]): Promise<Members> {
    let reason = ''
    for (const url of urls) {
      const { status, text } = await this.fetch(url, { headers: { accept: 'application/json' } })
      const found = status === 200 ? parseJsonObject(text) : null
      if (found !== null) return found
      const problem = status === 200 ? 'no JSON object' : `status ${status}`
      reason = `${new URL(url).host} responds with ${problem}`
    }
    throw new LoginError(`no metadata: ${reason}`)
  }

  /** Never follows a redirect. */
  async fetch(url: string, options: DocumentFetchOptions): Promise<FetchedText> {
    const { host } = new URL(url)
    const kind = this.hostKindOf(url)
    if (kind === 'forbidden') throw new LoginError(`${host} is not allowed for a login`)
    const fetchDocument = kind === 'gateway' ? this.#fetchGateway : this.#fetches[kind]
    try {
      const { status, text } = await fetchDocument(url, options)
      return { status, text: text() }
    } catch (error) {
      if (error instanceof InternalAddressError)
        throw new LoginError(`${host} is not allowed: it is inside this network and not the issuer`)
      throw new LoginError(`${host} does not respond, or its response cannot be read`)
    }
  }

  readonly #fetchGateway: FetchDocument = (url, options) => {
    const { protocol, address, port, authority } = this.#listener
    const host = address.includes(':') ? `[${address}]` : address
    const { pathname } = new URL(url)
    const headers = { ...options?.headers, host: authority }
    return this.#fetches.gateway(`${protocol}//${host}:${port}${pathname}`, { ...options, headers })
  }
}
