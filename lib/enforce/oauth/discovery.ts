// Discovery documents of identity providers: fetched, cached for a minute (longer while a provider is down), and checked
// before they are served to clients.

import { LRUMapWithDelete } from 'mnemonist'
import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import { errorMessageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { describeFetchFailure } from '../../http/fetch-document.ts'
import type { FetchDocument } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import type { KeySourceClock } from '../auth/key-sets.ts'
import { acceptUrlAtProvider } from './providers.ts'
import type { IdentityProvider, ProviderMetadata } from './providers.ts'
import { formatUrlForLog } from './shown-url.ts'

const FRESH_MS = 60_000
/** Maximum age of a document that is served while no newer one can be fetched. */
const STALE_MS = 3_600_000
/** Time to the next fetch after a failure: as long as a request waits for a provider that hangs. */
const RETRY_MS = 5_000
/** More than any configuration has; a document that was evicted is fetched again. */
const MAX_DOCUMENTS = 256

interface CachedDocument {
  document: ProviderMetadata | null
  fetchedAt: number
  failedAt: number
  reason: string
  /** The last reason in the log, with its details. */
  logged: string
  fetching: Promise<void> | null
}

export class DiscoveryDocuments {
  readonly #log: Log
  readonly #fetch: FetchDocument
  readonly #clock: KeySourceClock
  readonly #cache = new LRUMapWithDelete<string, CachedDocument>(MAX_DOCUMENTS)

  constructor(log: Log, fetch: FetchDocument, clock: KeySourceClock = performance) {
    this.#log = log
    this.#fetch = fetch
    this.#clock = clock
  }

  /** Returns the first of these documents that exists, or a text that says why there is none. */
  async findFirst(urls: readonly string[]): Promise<ProviderMetadata | string> {
    let reason = ''
    // URLs with a cached document come first, so that a URL without one is not tried again and again.
    for (const url of new Set([...urls.filter((url) => this.#has(url)), ...urls])) {
      // A host that does not respond is waited for once, not once for each of its documents.
      if (reason === describeTimeout(url)) continue
      const found = await this.#get(url)
      if (typeof found !== 'string') return found
      reason = found
    }
    return reason
  }

  async #get(url: string): Promise<ProviderMetadata | string> {
    const cached = this.#entry(url)
    const age = (): number => this.#clock.now() - cached.fetchedAt
    if (cached.document !== null && age() < FRESH_MS) return cached.document
    // A stale document is served while a new one is fetched.
    const renewal = this.#renew(url, cached)
    if (cached.document === null || age() >= STALE_MS) await renewal
    return cached.document !== null && age() < STALE_MS ? cached.document : cached.reason
  }

  #has(url: string): boolean {
    const cached = this.#cache.peek(url)
    return cached?.document != null && this.#clock.now() - cached.fetchedAt < STALE_MS
  }

  #entry(url: string): CachedDocument {
    let cached = this.#cache.get(url)
    if (cached === undefined) {
      cached = {
        document: null,
        fetchedAt: 0,
        failedAt: -Infinity,
        reason: '',
        logged: '',
        fetching: null,
      }
      this.#cache.set(url, cached)
    }
    return cached
  }

  /** One fetch at a time; never throws. */
  #renew(url: string, cached: CachedDocument): Promise<void> {
    if (cached.fetching === null && this.#clock.now() - cached.failedAt < RETRY_MS)
      return Promise.resolve()
    cached.fetching ??= this.#fetchInto(url, cached).finally(() => (cached.fetching = null))
    return cached.fetching
  }

  async #fetchInto(url: string, cached: CachedDocument): Promise<void> {
    const found = await this.#fetchDocument(url)
    if ('failure' in found) {
      cached.failedAt = this.#clock.now()
      cached.reason = found.failure
      this.#logFailure(url, cached, found.failure + found.detail)
    } else {
      cached.document = found.document
      cached.fetchedAt = this.#clock.now()
      cached.reason = ''
      cached.logged = ''
    }
  }

  /** Logs a failure unless it is the same as the last one. */
  #logFailure(url: string, cached: CachedDocument, text: string): void {
    if (text === cached.logged) return
    cached.logged = text
    this.#log.write('warn', 'auth', 'cannot fetch document', [
      ...['url', formatUrlForLog(url), 'error', text],
    ])
  }

  /** Returns the document, or why there is none; `detail` is for the log only. */
  async #fetchDocument(
    url: string,
  ): Promise<{ document: ProviderMetadata } | { failure: string; detail: string }> {
    const { host } = new URL(url)
    try {
      const { status, text } = await this.#fetch(url, { headers: { accept: 'application/json' } })
      const document = status === 200 ? parseJsonObject(text()) : null
      if (document !== null) return { document }
      const how = status === 200 ? 'without a JSON object' : `with status ${status}`
      return { failure: `${host} responded ${how}`, detail: '' }
    } catch (error) {
      const failure = describeFetchFailure(host, error)
      const detail = errorMessageOf(error)
      return { failure, detail: failure.endsWith(detail) ? '' : `: ${detail}` }
    }
  }
}

function describeTimeout(url: string): string {
  return `${new URL(url).host} does not respond`
}

/** Maximum characters of provider-supplied text in one log field. */
const MAX_LOGGED_LENGTH = 256

/** Members whose URLs clients follow. */
const FOLLOWED_MEMBERS = /_endpoint$|^jwks_uri$/

/** Returns the first followed member that is not an http(s) URL; null when there is none. */
function findUnsafeMember(document: ProviderMetadata): string | null {
  const { mtls_endpoint_aliases: aliases } = document
  for (const [name, value] of [...Object.entries(document), ...Object.entries(aliases ?? {})])
    if (FOLLOWED_MEMBERS.test(name) && value != null && !isWebUrl(value)) return name
  return null
}

function isWebUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
}

/** Checks provider metadata before it is served to clients. Logs each fetched document at most once. */
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

  /** Returns why the served document, built from the fetched one, must not be sent; null when it may. */
  check(fetched: ProviderMetadata, served: ProviderMetadata): string | null {
    const unsafe = findUnsafeMember(served)
    const fault = unsafe === null ? null : `${unsafe} is not an http(s) URL`
    if (fetched === this.#logged) return fault
    this.#logged = fetched
    this.#checkIssuer(fetched)
    this.#checkRegistration(fetched)
    if (fault !== null) {
      const fields = ['issuer', this.#config.issuer, 'error', fault]
      this.#log.write('warn', 'auth', 'metadata cannot be used', fields)
    }
    return fault
  }

  #checkIssuer({ issuer: advertised }: ProviderMetadata): void {
    const { issuer } = this.#config
    if (advertised === this.#provider.advertisedIssuer(issuer)) return
    const named =
      typeof advertised === 'string' ? advertised.slice(0, MAX_LOGGED_LENGTH) : undefined
    const message = 'metadata names another issuer: its tokens may be refused'
    this.#log.write('warn', 'auth', message, ['issuer', issuer, 'named', named])
  }

  #checkRegistration(fetched: ProviderMetadata): void {
    const { issuer, clientId } = this.#config
    const { registration_endpoint: endpoint } = fetched
    if (clientId !== null || endpoint == null || acceptUrlAtProvider(endpoint, issuer) !== null)
      return
    const isLeftOut = this.#provider.registrationUrl(fetched, issuer) === null
    const effect = isLeftOut ? 'left out' : 'not used'
    const isWeb = isWebUrl(endpoint)
    const why = isWeb ? 'it is on another host than the issuer' : 'it is not an http(s) URL'
    const url = isWeb ? formatUrlForLog(endpoint).slice(0, MAX_LOGGED_LENGTH) : undefined
    const fields = ['issuer', issuer, 'url', url]
    this.#log.write('warn', 'auth', `registration endpoint ${effect}: ${why}`, fields)
  }
}
