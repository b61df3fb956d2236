// Discovery documents of identity providers: kept for a minute, and for longer while a provider is down.

import { LRUMapWithDelete } from 'mnemonist'
import { messageOf } from '../../base/errors.ts'
import type { Fetch } from '../../base/fetch-text.ts'
import { objectIn } from '../../base/json/object-in.ts'
import type { Log } from '../../base/log/log.ts'
import { shownUrl } from '../shown-url.ts'
import type { Clock } from '../token/remote-keys.ts'
import type { Metadata } from './types.ts'

const FRESH_MS = 60_000
/** How old a document may be that is served because no newer one can be had. */
const STALE_MS = 3_600_000
/** After a failure nobody asks again for so long: as long as a provider that hangs has kept somebody waiting. */
const RETRY_MS = 5_000
/** More than any configuration has; a document that was dropped is fetched again. */
const MAX_DOCUMENTS = 256

interface Kept {
  document: Metadata | null
  fetchedAt: number
  failedAt: number
  reason: string
  fetching: Promise<void> | null
}

export class Documents {
  readonly #log: Log
  readonly #fetch: Fetch
  readonly #clock: Clock
  readonly #kept = new LRUMapWithDelete<string, Kept>(MAX_DOCUMENTS)

  constructor(log: Log, fetch: Fetch, clock: Clock = performance) {
    this.#log = log
    this.#fetch = fetch
    this.#clock = clock
  }

  /** The first of these documents that is there; a text says why none is. */
  async first(urls: readonly string[]): Promise<Metadata | string> {
    let reason = ''
    // Where it was before it is asked for first, so that a place without one is not tried again and again.
    for (const url of new Set([...urls.filter((one) => this.#has(one)), ...urls])) {
      // A host that does not answer is waited for once, not once for each of its documents.
      if (reason === silence(url)) continue
      const found = await this.#get(url)
      if (typeof found !== 'string') return found
      reason = found
    }
    return reason
  }

  async #get(url: string): Promise<Metadata | string> {
    const kept = this.#entry(url)
    const age = (): number => this.#clock.now() - kept.fetchedAt
    if (kept.document !== null && age() < FRESH_MS) return kept.document
    // An old one serves while the new one is on its way.
    const wait = this.#renew(url, kept)
    if (kept.document === null || age() >= STALE_MS) await wait
    return kept.document !== null && age() < STALE_MS ? kept.document : kept.reason
  }

  #has(url: string): boolean {
    const kept = this.#kept.peek(url)
    return kept?.document != null && this.#clock.now() - kept.fetchedAt < STALE_MS
  }

  #entry(url: string): Kept {
    let kept = this.#kept.get(url)
    if (kept === undefined) {
      kept = { document: null, fetchedAt: 0, failedAt: -Infinity, reason: '', fetching: null }
      this.#kept.set(url, kept)
    }
    return kept
  }

  /** One fetch at a time; never throws. */
  #renew(url: string, kept: Kept): Promise<void> {
    if (kept.fetching === null && this.#clock.now() - kept.failedAt < RETRY_MS)
      return Promise.resolve()
    kept.fetching ??= this.#fetchInto(url, kept).finally(() => (kept.fetching = null))
    return kept.fetching
  }

  async #fetchInto(url: string, kept: Kept): Promise<void> {
    const found = await this.#ask(url, kept.reason)
    if (typeof found === 'string') {
      kept.failedAt = this.#clock.now()
      kept.reason = found
    } else {
      kept.document = found
      kept.fetchedAt = this.#clock.now()
      kept.reason = ''
    }
  }

  /** The document, or why there is none; the log hears of what it has not heard before. */
  async #ask(url: string, before: string): Promise<Metadata | string> {
    const { host } = new URL(url)
    let reason = silence(url)
    let why = ''
    try {
      const { status, text } = await this.#fetch(url, { headers: { accept: 'application/json' } })
      const found = status === 200 ? objectIn(text()) : null
      if (found !== null) return found
      reason = `${host} answers with ${status === 200 ? 'no JSON object' : `status ${status}`}`
    } catch (error) {
      why = `: ${messageOf(error)}`
    }
    if (reason !== before)
      this.#log.line('warn', 'auth', 'cannot fetch document', [
        ...['url', shownUrl(url), 'error', reason + why],
      ])
    return reason
  }
}

function silence(url: string): string {
  return `${new URL(url).host} does not answer`
}
