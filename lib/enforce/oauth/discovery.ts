// Discovery documents of identity providers: kept for a minute, and for longer while a provider is down.

import { LRUMapWithDelete } from 'mnemonist'
import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { errorMessageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { FetchDocument } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type { KeySourceClock } from '../auth/key-sets.ts'
import { acceptUrlAtProvider } from './providers.ts'
import type { IdentityProvider, ProviderMetadata } from './providers.ts'
import { formatUrlForLog } from './shown-url.ts'

const FRESH_MS = 60_000
/** How old a document may be that is served because no newer one can be had. */
const STALE_MS = 3_600_000
/** After a failure nobody asks again for so long: as long as a provider that hangs has kept somebody waiting. */
const RETRY_MS = 5_000
/** More than any configuration has; a document that was dropped is fetched again. */
const MAX_DOCUMENTS = 256

interface CachedDocument {
  document: ProviderMetadata | null
  fetchedAt: number
  failedAt: number
  reason: string
  fetching: Promise<void> | null
}

export class DiscoveryDocuments {
  readonly #log: Log
  readonly #fetch: FetchDocument
  readonly #clock: KeySourceClock
  readonly #kept = new LRUMapWithDelete<string, CachedDocument>(MAX_DOCUMENTS)

  constructor(log: Log, fetch: FetchDocument, clock: KeySourceClock = performance) {
    this.#log = log
    this.#fetch = fetch
    this.#clock = clock
  }

  /** The first of these documents that is there; a text says why none is. */
  async findFirst(urls: readonly string[]): Promise<ProviderMetadata | string> {
    let reason = ''
    // Where it was before it is asked for first, so that a place without one is not tried again and again.
    for (const url of new Set([...urls.filter((one) => this.#has(one)), ...urls])) {
      // A host that does not answer is waited for once, not once for each of its documents.
      if (reason === describeTimeout(url)) continue
      const found = await this.#get(url)
      if (typeof found !== 'string') return found
      reason = found
    }
    return reason
  }

  async #get(url: string): Promise<ProviderMetadata | string> {
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

  #entry(url: string): CachedDocument {
    let kept = this.#kept.get(url)
    if (kept === undefined) {
      kept = { document: null, fetchedAt: 0, failedAt: -Infinity, reason: '', fetching: null }
      this.#kept.set(url, kept)
    }
    return kept
  }

  /** One fetch at a time; never throws. */
  #renew(url: string, kept: CachedDocument): Promise<void> {
    if (kept.fetching === null && this.#clock.now() - kept.failedAt < RETRY_MS)
      return Promise.resolve()
    kept.fetching ??= this.#fetchInto(url, kept).finally(() => (kept.fetching = null))
    return kept.fetching
  }

  async #fetchInto(url: string, kept: CachedDocument): Promise<void> {
    const found = await this.#fetchDocument(url, kept.reason)
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
  async #fetchDocument(url: string, before: string): Promise<ProviderMetadata | string> {
    const { host } = new URL(url)
    let reason = describeTimeout(url)
    let why = ''
    try {
      const { status, text } = await this.#fetch(url, { headers: { accept: 'application/json' } })
      const found = status === 200 ? parseJsonObject(text()) : null
      if (found !== null) return found
      reason = `${host} answers with ${status === 200 ? 'no JSON object' : `status ${status}`}`
    } catch (error) {
      why = `: ${errorMessageOf(error)}`
    }
    if (reason !== before)
      this.#log.write('warn', 'auth', 'cannot fetch document', [
        ...['url', formatUrlForLog(url), 'error', reason + why],
      ])
    return reason
  }
}

function describeTimeout(url: string): string {
  return `${new URL(url).host} does not answer`
}

// What is odd in a provider's own metadata: clients are not sent to what is no web page, and operators hear of the rest.

/** Letters of a provider's words in one field. */
const MAX_LOGGED = 256

/** Members that clients follow. */
const FOLLOWED = /_endpoint$|^jwks_uri$/

/** The first member that leads nowhere a client should go; null when there is none. */
function findUnsafeMember(document: ProviderMetadata): string | null {
  const { mtls_endpoint_aliases: aliases } = document
  for (const [name, value] of [...Object.entries(document), ...Object.entries(aliases ?? {})])
    if (FOLLOWED.test(name) && value != null && !isWebUrl(value)) return name
  return null
}

function isWebUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
}

/** The log hears of each document that was fetched once. */
export class MetadataCheck {
  readonly #config: McpAuthenticationConfig
  readonly #provider: IdentityProvider
  readonly #log: Log
  #logged: ProviderMetadata | null = null

  constructor(config: McpAuthenticationConfig, provider: IdentityProvider, log: Log) {
    this.#config = config
    this.#provider = provider
    this.#log = log
  }

  /** Why the document made from what was found must not be served; null when it may. */
  check(found: ProviderMetadata, made: ProviderMetadata): string | null {
    const odd = findUnsafeMember(made)
    const fault = odd === null ? null : `${odd} is no http(s) URL`
    if (found === this.#logged) return fault
    this.#logged = found
    this.#checkIssuer(found)
    this.#checkRegistration(found)
    if (fault !== null) {
      const fields = ['issuer', this.#config.issuer, 'error', fault]
      this.#log.write('warn', 'auth', 'metadata cannot be used', fields)
    }
    return fault
  }

  #checkIssuer({ issuer: named }: ProviderMetadata): void {
    const { issuer } = this.#config
    if (named === this.#provider.advertisedIssuer(issuer)) return
    const other = typeof named === 'string' ? named.slice(0, MAX_LOGGED) : undefined
    const message = 'metadata names another issuer: its tokens may be refused'
    this.#log.write('warn', 'auth', message, ['issuer', issuer, 'named', other])
  }

  #checkRegistration(found: ProviderMetadata): void {
    const { issuer, clientId } = this.#config
    const { registration_endpoint: written } = found
    if (clientId !== null || written == null || acceptUrlAtProvider(written, issuer) !== null)
      return
    const isLeftOut = this.#provider.registrationUrl(found, issuer) === null
    const fate = isLeftOut ? 'left out' : 'not used'
    const isWeb = isWebUrl(written)
    const why = isWeb ? 'it is on another host than the issuer' : 'it is no http(s) URL'
    const url = isWeb ? formatUrlForLog(written).slice(0, MAX_LOGGED) : undefined
    const fields = ['issuer', issuer, 'url', url]
    this.#log.write('warn', 'auth', `registration endpoint ${fate}: ${why}`, fields)
  }
}
