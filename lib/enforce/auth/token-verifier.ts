// Checks bearer tokens against a policy: by whom, for whom, until when, and signed by a key of the provider's.

import { hash } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import type { JWTVerifyOptions } from 'jose'
import { LRUMapWithDelete } from 'mnemonist'
import type { TokenRules } from '../../config/policy-types.ts'
import type { Claims } from '../../core/facts.ts'
import { parseCelJson } from '../../expressions/json-values.ts'
import { ALL_ALGORITHMS } from './key-sets.ts'
import type { KeySource, KeySourceClock, VerificationKeySet } from './key-sets.ts'

/** Longer ones are not looked at. */
export const MAX_TOKEN_LENGTH = 16_384

type Awaitable<T> = T | Promise<T>

interface TokenHeader {
  readonly kid: string
  readonly alg: string
}

export class TokenVerifier implements Verifier {
  readonly #rules: TokenRules
  readonly #keys: KeySource
  readonly #clock: KeySourceClock
  readonly #cache = new TokenCache()
  /** Checks under way, by hash: a crowd with one new token waits for one of them. */
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
    // Keys that have grown old are fetched anew, also while only known tokens come.
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
    current: Awaitable<VerificationKeySet | string>,
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

  /** Only what is valid is remembered: what is not costs its sender as much every time. */
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

/** Looked at before any work is done for it. Keys it brings along (jwk, jku, x5u) are not even read. */
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
  // An object: jose has checked that.
  const claims = parseCelJson(text) as Claims
  // 1e400: beyond any number is no time.
  if (claims.get('exp') === Infinity) throw new errors.JWTInvalid('exp is no time')
  return { kind: 'valid', claims, scopes: scopesOf(claims) }
}

/** `scope` is text with blanks (RFC 9068), `scp` text or a list. */
function scopesOf(claims: Claims): string[] {
  const written = claims.get('scope') ?? claims.get('scp')
  if (Array.isArray(written)) return written.filter((one) => typeof one === 'string')
  return typeof written === 'string' ? written.split(' ').filter((one) => one !== '') : []
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

// Tokens that were checked before, by their hash: the token itself is not kept. The least recently used is dropped first.

/** Tokens of one policy. */
export const MAX_TOKENS = 10_000

interface CachedToken {
  readonly verification: TokenVerification
  readonly generation: number
  readonly until: number
}

export class TokenCache {
  readonly #entries = new LRUMapWithDelete<string, CachedToken>(MAX_TOKENS)

  static hashOf(token: string): string {
    return hash('sha256', token, 'base64')
  }

  /** Undefined when the token was never seen, has expired, or was checked by other keys. */
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

// The words of token checks.

/** What is wrong with a token, by class: clients are told this much and no more. */
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

/** `unavailable`: the keys to check it by cannot be had now; that is not the client's fault. */
export type TokenVerification =
  | { readonly kind: 'valid'; readonly claims: Claims; readonly scopes: readonly string[] }
  | { readonly kind: 'invalid'; readonly fault: TokenFault }
  | { readonly kind: 'unavailable'; readonly reason: string }

export interface Verifier {
  /** At once for a token that was checked before, and for one that is wrong by its looks; otherwise a promise. */
  verify(token: string): TokenVerification | Promise<TokenVerification>
}
