// Every key set in use: those of a URL are shared by all policies that name it.

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

/** More than any configuration has; a key set that was dropped is fetched again. */
const MAX_KEY_SETS = 256

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

  /** Why the keys of a URL cannot be had, as far as the last try tells; null when they can, or nobody has asked for them. */
  faultAt(url: string): string | null {
    return this.#remote.peek(url)?.status.error ?? null
  }

  /** The state of each key set, the least recently used first. */
  get status(): RemoteKeySet['status'][] {
    return [...this.#remote.values()].map((keys) => keys.status).reverse()
  }
}

/** Keys that stand in the configuration. */
export function createFixedKeySource(jwks: readonly PublicKey[]): KeySource {
  const keys = new VerificationKeySet(jwks)
  return { generation: 0, current: () => keys, renew: () => Promise.resolve(false) }
}

// The public keys of a set, by id: which of them may check which algorithm, imported when first needed.

/** Never HMAC, never `none`: whoever holds a public key must not be able to sign with it. */
const ALGORITHMS: ReadonlyMap<string, readonly string[]> = new Map([
  ['RSA', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
  ['EC P-256', ['ES256']],
  ['EC P-384', ['ES384']],
  ['EC P-521', ['ES512']],
  ['OKP Ed25519', ['EdDSA', 'Ed25519']],
])

export const ALL_ALGORITHMS: readonly string[] = [...ALGORITHMS.values()].flat()

/** Keys in one set; providers have a handful. */
const MAX_KEYS_IN_SET = 256

type VerificationKey = CryptoKey | Uint8Array

type JwkWithId = JWK & { readonly kid: string }

/** Why keys of a set are not used. */
export type KeyExclusion = PublicKeyFault | 'algorithm' | 'duplicate kid' | 'too many'

export class VerificationKeySet {
  /** Which of its source's sets this is. */
  readonly generation: number
  readonly #jwks = new Map<string, JWK>()
  readonly #imported = new Map<string, Promise<VerificationKey | null>>()
  readonly #excluded = new Map<KeyExclusion, number>()

  /** What is of no use here is left out, so that one odd key does not cost the others. */
  constructor(jwks: readonly unknown[], generation = 0) {
    this.generation = generation
    for (const jwk of jwks.slice(0, MAX_KEYS_IN_SET)) this.#add(jwk)
    if (jwks.length > MAX_KEYS_IN_SET) this.#excluded.set('too many', jwks.length - MAX_KEYS_IN_SET)
  }

  /** How many there were for each reason. */
  get excluded(): ReadonlyMap<KeyExclusion, number> {
    return this.#excluded
  }

  get ids(): string[] {
    return [...this.#jwks.keys()]
  }

  has(kid: string): boolean {
    return this.#jwks.has(kid)
  }

  /** Of two with one id the first counts. */
  #add(jwk: unknown): void {
    const reason = findPublicKeyFault(jwk) ?? this.#exclusionOf(jwk as JwkWithId)
    if (reason === null) this.#jwks.set((jwk as JwkWithId).kid, jwk as JwkWithId)
    else this.#excluded.set(reason, (this.#excluded.get(reason) ?? 0) + 1)
  }

  #exclusionOf(jwk: JwkWithId): KeyExclusion | null {
    if (algorithmsOf(jwk).length === 0) return 'algorithm'
    return this.#jwks.has(jwk.kid) ? 'duplicate kid' : null
  }

  /** The key of this id, if it may check this algorithm, and is a key at all. */
  async find(kid: string, algorithm: string): Promise<VerificationKey | null> {
    const jwk = this.#jwks.get(kid)
    if (jwk === undefined || !algorithmsOf(jwk).includes(algorithm)) return null
    const name = `${algorithm} ${kid}`
    let key = this.#imported.get(name)
    if (key === undefined) {
      key = importJWK(jwk, algorithm).catch(() => null)
      this.#imported.set(name, key)
    }
    return key
  }
}

/** A key that names its algorithm is for no other. */
function algorithmsOf({ kty, crv, alg }: JWK): readonly string[] {
  const known = ALGORITHMS.get(kty === 'RSA' ? kty : `${kty} ${crv}`) ?? []
  return alg === undefined ? known : known.filter((one) => one === alg)
}

// A provider's key set: fetched when first needed and when it has grown old, or when a token names a key that is not in
// it. The last good set stays in use while the provider is down.

/** How long a set is fresh when the provider does not say, and at least and at most, whatever it says. */
const FRESH_MS = 900_000
const MIN_FRESH_MS = 60_000
const MAX_FRESH_MS = 86_400_000

/** How long behind that a set serves while a new one is fetched; whoever comes later waits for the new one. */
const GRACE_MS = 60_000

/** Unknown key ids are cheap to invent: they make nobody fetch more often than this. */
const COOLDOWN_MS = 30_000
/** After a failure. */
const RETRY_MS = 5_000

export interface KeySourceClock {
  now(): number
}

/** Where keys come from: a file's, which are there, or a provider's. */
export interface KeySource {
  /** Counts up with every other set. */
  readonly generation: number
  /** The keys, or why there are none. */
  current(): VerificationKeySet | Promise<VerificationKeySet | string>
  /** Once more from the provider, unless that was done just now; true when the set is another one. */
  renew(): Promise<boolean>
}

export class RemoteKeySet implements KeySource {
  readonly #url: string
  readonly #shown: string
  readonly #fetch: FetchDocument
  readonly #log: Log
  readonly #clock: KeySourceClock
  #keys: VerificationKeySet | null = null
  #text = ''
  #generation = 0
  #fetching: Promise<string> | null = null
  #fetchedAt = 0
  #freshUntil = 0
  #nextTry = 0
  /** When a missing key may make it fetch again. */
  #renewBy = 0
  #reason = ''

  constructor(url: string, fetch: FetchDocument, log: Log, clock: KeySourceClock) {
    this.#url = url
    this.#shown = formatUrlForLog(url)
    this.#fetch = fetch
    this.#log = log
    this.#clock = clock
  }

  get generation(): number {
    return this.#generation
  }

  /** For the dump. */
  get status(): { url: string; kids: string[]; ageSeconds: number | null; error: string | null } {
    return {
      url: this.#shown,
      kids: this.#keys?.ids ?? [],
      ageSeconds:
        this.#keys === null ? null : Math.round((this.#clock.now() - this.#fetchedAt) / 1000),
      error: this.#reason === '' ? null : this.#reason,
    }
  }

  current(): VerificationKeySet | Promise<VerificationKeySet | string> {
    const now = this.#clock.now()
    const keys = this.#keys
    if (keys === null) return this.#fetchFirst()
    if (now < this.#freshUntil || now < this.#nextTry) return keys
    const isDown = this.#reason !== ''
    const fetching = this.#fetchOnce()
    // Keys may have been removed long ago. A provider that was down just now is not waited for.
    if (now < this.#freshUntil + GRACE_MS || isDown) return keys
    return fetching.then(() => this.#keys ?? keys)
  }

  async renew(): Promise<boolean> {
    const before = this.#generation
    const now = this.#clock.now()
    const isCool = now >= this.#renewBy && now >= this.#nextTry
    if (this.#fetching === null && !isCool) return false
    // From the last time a key was missed: a rotation right behind a regular fetch is seen at once.
    this.#renewBy = now + COOLDOWN_MS
    await this.#fetchOnce()
    return this.#generation !== before
  }

  async #fetchFirst(): Promise<VerificationKeySet | string> {
    if (this.#fetching === null && this.#clock.now() < this.#nextTry) return this.#reason
    const reason = await this.#fetchOnce()
    return this.#keys ?? reason
  }

  /** Whoever asks while it is under way waits for the same answer. Never throws. */
  #fetchOnce(): Promise<string> {
    this.#fetching ??= this.#fetchNow().finally(() => (this.#fetching = null))
    return this.#fetching
  }

  async #fetchNow(): Promise<string> {
    try {
      const { status, text, headers } = await this.#fetch(this.#url)
      if (status !== 200) throw new Error(`status ${status}`)
      this.#acceptSet(text(), parseFreshness(String(headers['cache-control'] ?? '')))
      this.#reason = ''
    } catch (error) {
      this.#nextTry = this.#clock.now() + RETRY_MS
      this.#reason = errorMessageOf(error)
      const kept = this.#keys === null ? 'none' : 'the last good set'
      this.#log.write('warn', 'auth', 'cannot fetch key set', [
        ...['url', this.#shown, 'error', this.#reason],
        ...['keys', kept],
      ])
    }
    return this.#reason
  }

  #acceptSet(text: string, fresh: number): void {
    const now = this.#clock.now()
    if (text !== this.#text || this.#keys === null) {
      // What it says instead may repeat what it was asked, and is not told.
      const keys = parseJsonObject(text)?.['keys']
      if (!Array.isArray(keys)) throw new Error('no key set')
      this.#keys = new VerificationKeySet(keys, ++this.#generation)
      this.#text = text
      this.#logSet(this.#keys)
    }
    this.#fetchedAt = now
    this.#freshUntil = now + fresh
  }

  #logSet({ ids, excluded }: VerificationKeySet): void {
    this.#log.write('info', 'auth', 'fetched key set', ['url', this.#shown, 'keys', ids.length])
    if (excluded.size === 0) return
    const why = [...excluded].map(([reason, count]) => `${reason}: ${count}`).join(', ')
    this.#log.write('warn', 'auth', 'keys excluded from key set', ['url', this.#shown, 'why', why])
  }
}

/** What the provider says of how long its answer holds. */
function parseFreshness(cacheControl: string): number {
  if (/no-(?:cache|store)/i.test(cacheControl)) return MIN_FRESH_MS
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(cacheControl) ?? []
  if (seconds === undefined) return FRESH_MS
  return Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, Number(seconds) * 1000))
}
