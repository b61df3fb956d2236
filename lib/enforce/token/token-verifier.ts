// Checks bearer tokens against a policy: by whom, for whom, until when, and signed by a key of the provider's.

import { errors, jwtVerify } from 'jose'
import type { JWTVerifyOptions } from 'jose'
import { readJson } from '../../base/cel/json.ts'
import type { Claims } from '../../base/cel/json.ts'
import type { TokenRules } from '../../base/config/auth-types.ts'
import { ALL_ALGORITHMS } from './keys.ts'
import type { Clock, KeySource } from './remote-keys.ts'
import { TokenCache } from './token-cache.ts'
import type { TokenFault, Verification, Verifier } from './types.ts'

/** Longer ones are not looked at. */
export const MAX_TOKEN_LENGTH = 16_384

interface Header {
  readonly kid: string
  readonly alg: string
}

export class TokenVerifier implements Verifier {
  readonly #rules: TokenRules
  readonly #keys: KeySource
  readonly #clock: Clock
  readonly #cache = new TokenCache()

  constructor(rules: TokenRules, keys: KeySource, clock: Clock = Date) {
    this.#rules = rules
    this.#keys = keys
    this.#clock = clock
  }

  verify(token: string): Verification | Promise<Verification> {
    if (token.length > MAX_TOKEN_LENGTH) return invalid('too large')
    const now = this.#clock.now()
    const hash = TokenCache.hashOf(token)
    const { generation } = this.#keys
    const known = this.#cache.get(hash, generation, now)
    if (known !== undefined) return known
    const header = headerOf(token)
    if (typeof header === 'string') return invalid(header)
    const verification = this.#check(token, header)
      .then((result) => this.#keep(hash, result))
      .catch((error: unknown) => {
        this.#cache.delete(hash)
        throw error
      })
    this.#cache.set(hash, { verification, generation, until: now + MAX_CHECK_MS })
    return verification
  }

  async #check(token: string, { kid, alg }: Header): Promise<Verification> {
    const keys = await this.#keys.current()
    if (typeof keys === 'string') return { kind: 'unavailable', reason: keys }
    if (!keys.has(kid) && !(await this.#keys.renew())) return invalid('unknown key')
    const current = await this.#keys.current()
    const key = typeof current === 'string' ? null : await current.find(kid, alg)
    if (key === null) return invalid(keys.has(kid) ? 'algorithm' : 'unknown key')
    try {
      await jwtVerify(token, key, this.#options(alg))
      return validOf(token)
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
  #keep(hash: string, verification: Verification): Verification {
    if (verification.kind !== 'valid') {
      this.#cache.delete(hash)
      return verification
    }
    const exp = verification.claims.get('exp')
    const until = (exp === undefined ? Infinity : Number(exp) * 1000) + this.#rules.leeway
    this.#cache.set(hash, { verification, generation: this.#keys.generation, until })
    return verification
  }
}

/** While a check is under way others wait for it, no longer than a fetch of keys can take, twice. */
const MAX_CHECK_MS = 15_000

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

function validOf(token: string): Verification {
  const text = Buffer.from(token.split('.')[1]!, 'base64url').toString()
  // An object: jose has checked that.
  const claims = readJson(text) as Claims
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
  if (error.claim === 'iss') return 'issuer'
  if (error.claim === 'aud') return 'audience'
  return error.claim === 'nbf' ? 'not valid yet' : 'missing claim'
}
