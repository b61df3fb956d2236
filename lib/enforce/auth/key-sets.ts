// Key sets for token verification: keys of the configuration, and keys fetched from a URL, which all policies share.

import { importJWK } from 'jose'
import type { CryptoKey, JWK } from 'jose'
import { LRUMapWithDelete } from 'mnemonist'
import type { PublicKey } from '../../config/policy-types.ts'
import { findPublicKeyFault } from '../../config/public-key.ts'
import type { PublicKeyFault } from '../../config/public-key.ts'
import { errorMessageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { FetchDocument } from '../../http/fetch-document.ts'
import { parseJsonObject } from '../../text/json-edit.ts'
import { formatUrlForLog } from '../oauth/shown-url.ts'

/** More than any configuration has; a key set that was evicted is fetched again. */
const MAX_KEY_SETS = 256

export interface KeySourceClock {
  now(): number
}

/** A source of keys: the configuration, or a provider's URL. */
export interface KeySource {
  /** Incremented with every changed key set. */
  readonly generation: number
  /** Returns the keys, or a text that says why there are none. */
  current(): VerificationKeySet | Promise<VerificationKeySet | string>
  /** Fetches the key set again, unless that was done recently; returns true when it has changed. */
  renew(): Promise<boolean>
}

export class KeySetRegistry {
  readonly #log: Log
  readonly #fetch: FetchDocument
  readonly #clock: KeySourceClock
  readonly #remote = new LRUMapWithDelete<string, RemoteKeySet>(MAX_KEY_SETS)

  constructor(log: Log, fetch: FetchDocument, clock: KeySourceClock = performance) {
    this.#log = log
    this.#fetch = fetch
    this.#clock = clock
  }

  sourceFor(url: string): KeySource {
    let keys = this.#remote.get(url)
    if (keys === undefined) {
      keys = new RemoteKeySet(url, this.#fetch, this.#log, this.#clock)
      this.#remote.set(url, keys)
    }
    return keys
  }

  /** Returns the error of the last fetch of a URL; null when it succeeded, or the keys were never needed. */
  faultAt(url: string): string | null {
    return this.#remote.peek(url)?.status.error ?? null
  }

  /** Returns the state of each key set, the least recently used first. */
  get status(): RemoteKeySet['status'][] {
    return [...this.#remote.values()].map((keys) => keys.status).reverse()
  }
}

/** Creates a source of keys that are part of the configuration. */
export function createFixedKeySource(jwks: readonly PublicKey[]): KeySource {
  const keys = new VerificationKeySet(jwks)
  return { generation: 0, current: () => keys, renew: () => Promise.resolve(false) }
}

/** Neither HMAC nor `none`: a party that has the public key must not be able to sign with it. */
const ALGORITHMS: ReadonlyMap<string, readonly string[]> = new Map([
  ['RSA', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
  ['EC P-256', ['ES256']],
  ['EC P-384', ['ES384']],
  ['EC P-521', ['ES512']],
  ['OKP Ed25519', ['EdDSA', 'Ed25519']],
])

export const ALL_ALGORITHMS: readonly string[] = [...ALGORITHMS.values()].flat()

/** Keys of one set; providers have a few. */
const MAX_KEYS_IN_SET = 256

type VerificationKey = CryptoKey | Uint8Array

type JwkWithId = JWK & { readonly kid: string }

/** Why a key of a set is not used. */
export type KeyExclusion = PublicKeyFault | 'algorithm' | 'duplicate kid' | 'too many'

/** The public keys of a set by key id, imported when first needed. */
export class VerificationKeySet {
  /** The generation of its source. */
  readonly generation: number
  readonly #jwks = new Map<string, JWK>()
  readonly #imported = new Map<string, Promise<VerificationKey | null>>()
  readonly #excluded = new Map<KeyExclusion, number>()

  /** Excludes unusable keys, so that one of them does not make the whole set unusable. */
  constructor(jwks: readonly unknown[], generation = 0) {
    this.generation = generation
    for (const jwk of jwks.slice(0, MAX_KEYS_IN_SET)) this.#add(jwk)
    if (jwks.length > MAX_KEYS_IN_SET) this.#excluded.set('too many', jwks.length - MAX_KEYS_IN_SET)
  }

  /** The number of excluded keys for each reason. */
  get excluded(): ReadonlyMap<KeyExclusion, number> {
    return this.#excluded
  }

  get ids(): string[] {
    return [...this.#jwks.keys()]
  }

  has(kid: string): boolean {
    return this.#jwks.has(kid)
  }

  /** Of two keys with the same id, the first is used. */
  #add(jwk: unknown): void {
    const reason = findPublicKeyFault(jwk) ?? this.#exclusionOf(jwk as JwkWithId)
    if (reason === null) this.#jwks.set((jwk as JwkWithId).kid, jwk as JwkWithId)
    else this.#excluded.set(reason, (this.#excluded.get(reason) ?? 0) + 1)
  }

  #exclusionOf(jwk: JwkWithId): KeyExclusion | null {
    if (algorithmsOf(jwk).length === 0) return 'algorithm'
    return this.#jwks.has(jwk.kid) ? 'duplicate kid' : null
  }

  /** Returns the key of this id, or null when it is unknown, not for this algorithm or cannot be imported. */
  async find(kid: string, algorithm: string): Promise<VerificationKey | null> {
    const jwk = this.#jwks.get(kid)
    if (jwk === undefined || !algorithmsOf(jwk).includes(algorithm)) return null
    const cacheKey = `${algorithm} ${kid}`
    let key = this.#imported.get(cacheKey)
    if (key === undefined) {
      key = importJWK(jwk, algorithm).catch(() => null)
      this.#imported.set(cacheKey, key)
    }
    return key
  }
}

/** A key that names its algorithm may be used for no other. */
function algorithmsOf({ kty, crv, alg }: JWK): readonly string[] {
  const known = ALGORITHMS.get(kty === 'RSA' ? kty : `${kty} ${crv}`) ?? []
  return alg === undefined ? known : known.filter((algorithm) => algorithm === alg)
}

/** How long a set is fresh when the provider sends no `max-age`, and the bounds of that `max-age`. */
const FRESH_MS = 900_000
const MIN_FRESH_MS = 60_000
const MAX_FRESH_MS = 86_400_000

/** How long after that a set is used while a new one is fetched; later requests wait for the new set. */
const GRACE_MS = 60_000

/** Minimum time between fetches for unknown key ids, which any client can invent. */
const COOLDOWN_MS = 30_000
/** Time to the next fetch after a failure. */
const RETRY_MS = 5_000

/**
 * A provider's key set: fetched when first needed, when it is no longer fresh, and when a token names an unknown key. The
 * last good set stays in use while the provider is down.
 */
export class RemoteKeySet implements KeySource {
  readonly #url: string
  readonly #urlForLog: string
  readonly #fetch: FetchDocument
  readonly #log: Log
  readonly #clock: KeySourceClock
  #keys: VerificationKeySet | null = null
  #text = ''
  #generation = 0
  #fetching: Promise<string> | null = null
  #fetchedAt = 0
  #freshUntil = 0
  #retryAt = 0
  /** When an unknown key may cause the next fetch. */
  #renewAllowedAt = 0
  /** The error of the last fetch; '' when it succeeded. */
  #lastError = ''

  constructor(url: string, fetch: FetchDocument, log: Log, clock: KeySourceClock) {
    this.#url = url
    this.#urlForLog = formatUrlForLog(url)
    this.#fetch = fetch
    this.#log = log
    this.#clock = clock
  }

  get generation(): number {
    return this.#generation
  }

  /** The state that the config dump shows. */
  get status(): { url: string; kids: string[]; ageSeconds: number | null; error: string | null } {
    return {
      url: this.#urlForLog,
      kids: this.#keys?.ids ?? [],
      ageSeconds:
        this.#keys === null ? null : Math.round((this.#clock.now() - this.#fetchedAt) / 1000),
      error: this.#lastError === '' ? null : this.#lastError,
    }
  }

  current(): VerificationKeySet | Promise<VerificationKeySet | string> {
    const now = this.#clock.now()
    const keys = this.#keys
    if (keys === null) return this.#fetchFirst()
    if (now < this.#freshUntil || now < this.#retryAt) return keys
    const isDown = this.#lastError !== ''
    const fetching = this.#fetchOnce()
    // After the grace period keys may have been revoked long ago. A provider that just failed is not waited for.
    if (now < this.#freshUntil + GRACE_MS || isDown) return keys
    return fetching.then(() => this.#keys ?? keys)
  }

  async renew(): Promise<boolean> {
    const previousGeneration = this.#generation
    const now = this.#clock.now()
    const mayFetch = now >= this.#renewAllowedAt && now >= this.#retryAt
    if (this.#fetching === null && !mayFetch) return false
    // Counted from the last unknown key, not the last fetch: a key rotation right after a regular fetch is seen at once.
    this.#renewAllowedAt = now + COOLDOWN_MS
    await this.#fetchOnce()
    return this.#generation !== previousGeneration
  }

  async #fetchFirst(): Promise<VerificationKeySet | string> {
    if (this.#fetching === null && this.#clock.now() < this.#retryAt) return this.#lastError
    const reason = await this.#fetchOnce()
    return this.#keys ?? reason
  }

  /** Concurrent callers share one fetch. Returns the error text or '', and never throws. */
  #fetchOnce(): Promise<string> {
    this.#fetching ??= this.#fetchNow().finally(() => (this.#fetching = null))
    return this.#fetching
  }

  async #fetchNow(): Promise<string> {
    try {
      const { status, text, headers } = await this.#fetch(this.#url)
      if (status !== 200) throw new Error(`status ${status}`)
      this.#acceptSet(text(), parseFreshness(String(headers['cache-control'] ?? '')))
      this.#lastError = ''
    } catch (error) {
      this.#retryAt = this.#clock.now() + RETRY_MS
      this.#lastError = errorMessageOf(error)
      const keysInUse = this.#keys === null ? 'none' : 'the last good set'
      this.#log.write('warn', 'auth', 'cannot fetch key set', [
        ...['url', this.#urlForLog, 'error', this.#lastError],
        ...['keys', keysInUse],
      ])
    }
    return this.#lastError
  }

  #acceptSet(text: string, freshMs: number): void {
    const now = this.#clock.now()
    if (text !== this.#text || this.#keys === null) {
      // The document is not part of the error text: it may repeat parts of the request.
      const keys = parseJsonObject(text)?.['keys']
      if (!Array.isArray(keys)) throw new Error('no key set')
      this.#keys = new VerificationKeySet(keys, ++this.#generation)
      this.#text = text
      this.#logSet(this.#keys)
    }
    this.#fetchedAt = now
    this.#freshUntil = now + freshMs
  }

  #logSet({ ids, excluded }: VerificationKeySet): void {
    this.#log.write('info', 'auth', 'fetched key set', ['url', this.#urlForLog, 'keys', ids.length])
    if (excluded.size === 0) return
    const why = [...excluded].map(([reason, count]) => `${reason}: ${count}`).join(', ')
    this.#log.write('warn', 'auth', 'keys excluded from key set', [
      'url',
      this.#urlForLog,
      'why',
      why,
    ])
  }
}

/** Returns how long a key set is fresh by its `cache-control`. */
function parseFreshness(cacheControl: string): number {
  if (/no-(?:cache|store)/i.test(cacheControl)) return MIN_FRESH_MS
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(cacheControl) ?? []
  if (seconds === undefined) return FRESH_MS
  return Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, Number(seconds) * 1000))
}
