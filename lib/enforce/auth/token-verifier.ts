// Verifies bearer tokens: signature, issuer, audience, lifetime and required claims. Valid tokens are cached.

import { hash } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import type { JWTVerifyOptions } from 'jose'
import { LRUMapWithDelete } from 'mnemonist'
import type { TokenRules } from '../../config/policy-types.ts'
import type { Claims } from '../../core/facts.ts'
import { parseCelJson } from '../../expressions/json-values.ts'
import { ALL_ALGORITHMS } from './key-sets.ts'
import type { KeySource, KeySourceClock } from './key-sets.ts'

/** Longer tokens are rejected without a check. */
export const MAX_TOKEN_LENGTH = 16_384

/** What is wrong with a token. Clients get this class of fault and no more. */
export type TokenFault =
  | 'malformed'
  | 'too large'
  | 'algorithm'
  | 'unknown key'
  | 'signature'
  | 'expired'
  | 'not valid yet'
  | 'issuer'
  | 'audience'
  | 'missing claim'

/** `unavailable`: the signing keys are unavailable, which is not the client's fault. */
export type TokenVerification =
  | { readonly kind: 'valid'; readonly claims: Claims; readonly scopes: readonly string[] }
  | { readonly kind: 'invalid'; readonly fault: TokenFault }
  | { readonly kind: 'unavailable'; readonly reason: string }

export interface Verifier {
  /** Synchronous for a cached token and for one that is obviously invalid. */
  verify(token: string): TokenVerification | Promise<TokenVerification>
}

interface TokenHeader {
  readonly kid: string
  readonly alg: string
}

export class TokenVerifier implements Verifier {
  readonly #rules: TokenRules
  readonly #keys: KeySource
  readonly #clock: KeySourceClock
  readonly #cache = new TokenCache()
  /** Running verifications by token hash: concurrent requests with the same new token share one. */
  readonly #pending = new Map<string, Promise<TokenVerification>>()

  constructor(rules: TokenRules, keys: KeySource, clock: KeySourceClock = Date) {
    this.#rules = rules
    this.#keys = keys
    this.#clock = clock
  }

  get cachedCount(): number {
    return this.#cache.size
  }

  verify(token: string): TokenVerification | Promise<TokenVerification> {
    if (token.length > MAX_TOKEN_LENGTH) return createInvalid('too large')
    const hash = TokenCache.hashOf(token)
    // Called also for cached tokens, so that keys that are no longer fresh are fetched again.
    const keys = this.#keys.current()
    const known =
      (keys instanceof Promise ? undefined : this.#cached(hash)) ?? this.#pending.get(hash)
    if (known !== undefined) return known
    const header = parseTokenHeader(token)
    if (typeof header === 'string') return createInvalid(header)
    const check = this.#check(token, header, hash, keys).finally(() => this.#pending.delete(hash))
    this.#pending.set(hash, check)
    return check
  }

  #cached(hash: string): TokenVerification | undefined {
    return this.#cache.get(hash, this.#keys.generation, this.#clock.now())
  }

  async #check(
    token: string,
    { kid, alg }: TokenHeader,
    hash: string,
    current: ReturnType<KeySource['current']>,
  ): Promise<TokenVerification> {
    let keys = await current
    const known = this.#cached(hash)
    if (known !== undefined) return known
    if (typeof keys !== 'string' && !keys.has(kid)) {
      await this.#keys.renew()
      keys = await this.#keys.current()
    }
    if (typeof keys === 'string') return { kind: 'unavailable', reason: keys }
    if (!keys.has(kid)) return createInvalid('unknown key')
    const key = await keys.find(kid, alg)
    if (key === null) return createInvalid('algorithm')
    try {
      await jwtVerify(token, key, this.#options(alg))
      const verification = decodeValidToken(token)
      this.#remember(hash, verification, keys.generation)
      return verification
    } catch (error) {
      return createInvalid(classifyVerifyError(error))
    }
  }

  #options(alg: string): JWTVerifyOptions {
    const { issuer, audiences, leeway, requiredClaims } = this.#rules
    return {
      algorithms: [alg],
      issuer,
      ...(audiences.length === 0 ? {} : { audience: [...audiences] }),
      clockTolerance: leeway / 1000,
      requiredClaims: [...requiredClaims],
      currentDate: new Date(this.#clock.now()),
    }
  }

  /** Only valid tokens are cached: an invalid token is checked in full each time. */
  #remember(hash: string, verification: ValidVerification, generation: number): void {
    const exp = verification.claims.get('exp')
    const until = (exp === undefined ? Infinity : Number(exp) * 1000) + this.#rules.leeway
    this.#cache.set(hash, { verification, generation, until })
  }
}

type ValidVerification = Extract<TokenVerification, { kind: 'valid' }>

function createInvalid(fault: TokenFault): TokenVerification {
  return { kind: 'invalid', fault }
}

/** Checks the header before any expensive work. Keys in the header (jwk, jku, x5u) are never read. */
function parseTokenHeader(token: string): TokenHeader | TokenFault {
  const parts = token.split('.')
  if (parts.length !== 3 || !parts.every((part) => /^[\w-]+$/.test(part))) return 'malformed'
  try {
    const header: unknown = JSON.parse(Buffer.from(parts[0]!, 'base64url').toString())
    if (typeof header !== 'object' || header === null || Array.isArray(header)) return 'malformed'
    const { alg, kid, crit, b64 } = header as Record<string, unknown>
    if (typeof alg !== 'string' || crit !== undefined || b64 !== undefined) return 'malformed'
    if (!ALL_ALGORITHMS.includes(alg)) return 'algorithm'
    return typeof kid === 'string' && kid !== '' ? { alg, kid } : 'unknown key'
  } catch {
    return 'malformed'
  }
}

function decodeValidToken(token: string): ValidVerification {
  const text = Buffer.from(token.split('.')[1]!, 'base64url').toString()
  // jose has checked that this is an object.
  const claims = parseCelJson(text) as Claims
  // A number such as 1e400 is parsed as Infinity.
  if (claims.get('exp') === Infinity) throw new errors.JWTInvalid('exp is not a time')
  return { kind: 'valid', claims, scopes: scopesOf(claims) }
}

/** `scope` is a space-separated text (RFC 9068), `scp` a text or a list. */
function scopesOf(claims: Claims): string[] {
  const scope = claims.get('scope') ?? claims.get('scp')
  if (Array.isArray(scope)) return scope.filter((item) => typeof item === 'string')
  return typeof scope === 'string' ? scope.split(' ').filter((item) => item !== '') : []
}

function classifyVerifyError(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm'
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'malformed'
  if (error.reason === 'missing') return 'missing claim'
  if (error.reason !== 'check_failed') return 'malformed'
  if (error.claim === 'iss') return 'issuer'
  return error.claim === 'nbf' ? 'not valid yet' : 'audience'
}

/** Cached tokens of one policy. */
export const MAX_TOKENS = 10_000

interface CachedToken {
  readonly verification: TokenVerification
  readonly generation: number
  readonly until: number
}

/** Verified tokens by their hash; the token itself is not stored. The least recently used is evicted first. */
export class TokenCache {
  readonly #entries = new LRUMapWithDelete<string, CachedToken>(MAX_TOKENS)

  static hashOf(token: string): string {
    return hash('sha256', token, 'base64')
  }

  /** Returns undefined when the token is not cached, has expired, or was verified with an earlier key set. */
  get(hash: string, generation: number, now: number): TokenVerification | undefined {
    const entry = this.#entries.get(hash)
    if (entry === undefined) return undefined
    if (entry.generation === generation && now < entry.until) return entry.verification
    this.#entries.delete(hash)
    return undefined
  }

  set(hash: string, entry: CachedToken): void {
    this.#entries.set(hash, entry)
  }

  get size(): number {
    return this.#entries.size
  }
}
