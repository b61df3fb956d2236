// Checks bearer tokens against a policy: by whom, for whom, until when, and signed by a key of the provider's.

import { errors, jwtVerify } from 'jose'
import type { JWTVerifyOptions } from 'jose'
import { readJson } from '../../base/cel/json.ts'
import type { TokenRules } from '../../base/config/auth-types.ts'
import { ALL_ALGORITHMS } from './keys.ts'
import type { Keys } from './keys.ts'
import type { Clock, KeySource } from './remote-keys.ts'
import { TokenCache } from './token-cache.ts'
import type { TokenFault, Verification, Verifier } from './types.ts'
import type { Claims } from '../../base/cel/facts.ts'

/** Longer ones are not looked at. */
export const MAX_TOKEN_LENGTH = 16_384

type Awaitable<T> = T | Promise<T>

interface Header {
  readonly kid: string
  readonly alg: string
}

export class TokenVerifier implements Verifier {
  readonly #rules: TokenRules
  readonly #keys: KeySource
  readonly #clock: Clock
  readonly #cache = new TokenCache()
  /** Checks under way, by hash: a crowd with one new token waits for one of them. */
  readonly #pending = new Map<string, Promise<Verification>>()

  constructor(rules: TokenRules, keys: KeySource, clock: Clock = Date) {
    this.#rules = rules
    this.#keys = keys
    this.#clock = clock
  }

  get remembered(): number {
    return this.#cache.size
  }

  verify(token: string): Verification | Promise<Verification> {
    if (token.length > MAX_TOKEN_LENGTH) return invalid('too large')
    const hash = TokenCache.hashOf(token)
    // Keys that have grown old are fetched anew, also while only known tokens come.
    const keys = this.#keys.current()
    const known =
      (keys instanceof Promise ? undefined : this.#known(hash)) ?? this.#pending.get(hash)
    if (known !== undefined) return known
    const header = headerOf(token)
    if (typeof header === 'string') return invalid(header)
    const check = this.#check(token, header, hash, keys).finally(() => this.#pending.delete(hash))
    this.#pending.set(hash, check)
    return check
  }

  #known(hash: string): Verification | undefined {
    return this.#cache.get(hash, this.#keys.generation, this.#clock.now())
  }

  async #check(
    token: string,
    { kid, alg }: Header,
    hash: string,
    current: Awaitable<Keys | string>,
  ): Promise<Verification> {
    let keys = await current
    const known = this.#known(hash)
    if (known !== undefined) return known
    if (typeof keys !== 'string' && !keys.has(kid)) {
      await this.#keys.renew()
      keys = await this.#keys.current()
    }
    if (typeof keys === 'string') return { kind: 'unavailable', reason: keys }
    if (!keys.has(kid)) return invalid('unknown key')
    const key = await keys.find(kid, alg)
    if (key === null) return invalid('algorithm')
    try {
      await jwtVerify(token, key, this.#options(alg))
      const verification = validOf(token)
      this.#keep(hash, verification, keys.generation)
      return verification
    } catch (error) {
      return invalid(faultOf(error))
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
  #keep(hash: string, verification: Valid, generation: number): void {
    const exp = verification.claims.get('exp')
    const until = (exp === undefined ? Infinity : Number(exp) * 1000) + this.#rules.leeway
    this.#cache.set(hash, { verification, generation, until })
  }
}

type Valid = Extract<Verification, { kind: 'valid' }>

function invalid(fault: TokenFault): Verification {
  return { kind: 'invalid', fault }
}

/** Looked at before any work is done for it. Keys it brings along (jwk, jku, x5u) are not even read. */
function headerOf(token: string): Header | TokenFault {
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

function validOf(token: string): Valid {
  const text = Buffer.from(token.split('.')[1]!, 'base64url').toString()
  // An object: jose has checked that.
  const claims = readJson(text) as Claims
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

function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm'
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'malformed'
  if (error.reason === 'missing') return 'missing claim'
  if (error.reason !== 'check_failed') return 'malformed'
  if (error.claim === 'iss') return 'issuer'
  return error.claim === 'nbf' ? 'not valid yet' : 'audience'
}
