// How a login asks the gateway and its provider, and nobody else that a document names. What is the gateway's own goes over
// loopback to its listener: its public name need not lead there from here.

import type { FetchDocument, DocumentFetchOptions } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import { InternalAddressError } from '../../http/fetch-document.ts'
import type { Destination } from './destination.ts'
import { LoginProblem } from './login-problem.ts'
import { reachOf } from './reach.ts'
import type { Homes, Reach } from './reach.ts'

export interface Fetches {
  readonly theirs: FetchDocument
  readonly ours: FetchDocument
  readonly strangers: FetchDocument
}

export interface Fetched {
  readonly status: number
  readonly text: string
}

export type Members = Readonly<Record<string, unknown>>

export class Web {
  readonly #fetches: Fetches
  readonly #own: Destination
  readonly #homes: Homes

  constructor(fetches: Fetches, own: Destination, homes: Homes) {
    this.#fetches = fetches
    this.#own = own
    this.#homes = homes
  }

  reachOf(url: string): Reach {
    return reachOf(url, this.#homes)
  }

  /** The first of these that is there. */
  async document(urls: readonly string[]): Promise<Members> {
    let reason = ''
    for (const url of urls) {
      const { status, text } = await this.ask(url, { headers: { accept: 'application/json' } })
      const found = status === 200 ? parseJsonObject(text) : null
      if (found !== null) return found
      const what = status === 200 ? 'no JSON object' : `status ${status}`
      reason = `${new URL(url).host} answers with ${what}`
    }
    throw new LoginProblem(`no metadata: ${reason}`)
  }

  /** Never follows a redirect. */
  async ask(url: string, options: DocumentFetchOptions): Promise<Fetched> {
    const { host } = new URL(url)
    const reach = this.reachOf(url)
    if (reach === 'nobody') throw new LoginProblem(`${host} is not asked for a login`)
    const ask = reach === 'ours' ? this.#fetchOurs : this.#fetches[reach]
    try {
      const { status, text } = await ask(url, options)
      return { status, text: text() }
    } catch (error) {
      if (error instanceof InternalAddressError)
        throw new LoginProblem(
          `${host} is not asked: it is inside this network, and not the issuer`,
        )
      throw new LoginProblem(`${host} does not answer, or not in a way that can be read`)
    }
  }

  readonly #fetchOurs: FetchDocument = (url, options) => {
    const { protocol, address, port, authority } = this.#own
    const host = address.includes(':') ? `[${address}]` : address
    const { pathname } = new URL(url)
    const headers = { ...options?.headers, host: authority }
    return this.#fetches.ours(`${protocol}//${host}:${port}${pathname}`, { ...options, headers })
  }
}
