// How a login calls the gateway and the configured provider, and which hosts it may call: a document of a provider must not
// make this process call its own network.

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

export function hostKindOf(written: string, { issuer, resource, operators }: KnownHosts): HostKind {
  if (!URL.canParse(written)) return 'forbidden'
  const url = new URL(written)
  const { origin, protocol, hostname, pathname, username, password } = url
  const home = new URL(issuer)
  if (username !== '' || password !== '' || isForOperators(url, operators)) return 'forbidden'
  if (origin === new URL(resource).origin && isDocument(pathname)) return 'gateway'
  if (origin === home.origin) return 'provider'
  const name = bare(hostname)
  if (protocol !== 'https:' || isLoopback(name)) return 'forbidden'
  if (hostname === home.hostname) return 'provider'
  return isIP(name) === 0 ? 'public' : 'forbidden'
}

function isForOperators(url: URL, operators: readonly AdminAddress[]): boolean {
  const name = bare(url.hostname)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  return operators.some((one) => {
    if (one.kind === 'off' || one.kind === 'unix' || one.port !== port) return false
    return isLoopback(name) || (one.kind === 'tcp' && (isIP(name) !== 0 || one.host === name))
  })
}

/** Without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

export interface Fetches {
  readonly provider: FetchDocument
  readonly gateway: FetchDocument
  readonly public: FetchDocument
}

export interface Fetched {
  readonly status: number
  readonly text: string
}

export type Members = Readonly<Record<string, unknown>>

export class ProviderAccess {
  readonly #fetches: Fetches
  readonly #own: Destination
  readonly #hosts: KnownHosts

  constructor(fetches: Fetches, own: Destination, hosts: KnownHosts) {
    this.#fetches = fetches
    this.#own = own
    this.#hosts = hosts
  }

  hostKindOf(url: string): HostKind {
    return hostKindOf(url, this.#hosts)
  }

  /** The first of these documents that exists. */
  async document(urls: readonly string[]): Promise<Members> {
    let reason = ''
    for (const url of urls) {
      const { status, text } = await this.ask(url, { headers: { accept: 'application/json' } })
      const found = status === 200 ? parseJsonObject(text) : null
      if (found !== null) return found
      const what = status === 200 ? 'no JSON object' : `status ${status}`
      reason = `${new URL(url).host} responds with ${what}`
    }
    throw new LoginError(`no metadata: ${reason}`)
  }

  /** Never follows a redirect. */
  async ask(url: string, options: DocumentFetchOptions): Promise<Fetched> {
    const { host } = new URL(url)
    const reach = this.hostKindOf(url)
    if (reach === 'forbidden') throw new LoginError(`${host} is not allowed for a login`)
    const ask = reach === 'gateway' ? this.#fetchGateway : this.#fetches[reach]
    try {
      const { status, text } = await ask(url, options)
      return { status, text: text() }
    } catch (error) {
      if (error instanceof InternalAddressError)
        throw new LoginError(`${host} is not allowed: it is inside this network and not the issuer`)
      throw new LoginError(`${host} does not respond, or its response cannot be read`)
    }
  }

  readonly #fetchGateway: FetchDocument = (url, options) => {
    const { protocol, address, port, authority } = this.#own
    const host = address.includes(':') ? `[${address}]` : address
    const { pathname } = new URL(url)
    const headers = { ...options?.headers, host: authority }
    return this.#fetches.gateway(`${protocol}//${host}:${port}${pathname}`, { ...options, headers })
  }
}
