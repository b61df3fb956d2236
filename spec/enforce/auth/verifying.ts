// Shared by the specs of tokens: rules, matching claims, a clock, and a key source that counts its calls.

import type { TokenRules } from '../../../lib/config/policy-types.ts'
import { VerificationKeySet } from '../../../lib/enforce/auth/key-sets.ts'
import type { KeySource } from '../../../lib/enforce/auth/key-sets.ts'
import type { TokenVerification, TokenVerifier } from '../../../lib/enforce/auth/token-verifier.ts'
import { deadline } from '../../support/deadline.ts'
import type { Signer } from '../../support/signer.ts'

export const ISSUER = 'https://idp.example/realms/r'

/** The fixed time of the specs, in seconds. */
export const NOW = 1_800_000_000

export const RULES: TokenRules = {
  issuer: ISSUER,
  audiences: ['gateway', 'api://gateway'],
  jwks: { kind: 'derived' },
  requiredClaims: ['exp'],
  leeway: 60_000,
}

/** The claims of a valid token, with some replaced. */
export function claimsOf(other: Record<string, unknown> = {}): Record<string, unknown> {
  return { iss: ISSUER, aud: 'gateway', exp: NOW + 300, sub: 'u', ...other }
}

export class StillClock {
  seconds = NOW

  now(): number {
    return this.seconds * 1000
  }
}

/** Keys that count their uses: each `find` is followed by one verification. */
class CountedKeys extends VerificationKeySet {
  found = 0

  override async find(kid: string, algorithm: string): ReturnType<VerificationKeySet['find']> {
    this.found++
    return super.find(kid, algorithm)
  }
}

export class CountedSource implements KeySource {
  generation = 1
  renewed = 0
  /** The keys that the next renewal returns. */
  next: readonly Signer[] | null = null
  reason: string | null = null
  /** While it is set, callers wait for this promise first. */
  wait: Promise<void> | null = null
  #keys: CountedKeys
  #found = 0

  constructor(...signers: Signer[]) {
    this.#keys = this.#keysOf(signers)
  }

  get found(): number {
    return this.#found + this.#keys.found
  }

  current(): VerificationKeySet | Promise<VerificationKeySet | string> {
    if (this.wait !== null) return this.wait.then(() => this.#keys)
    return this.reason === null ? this.#keys : Promise.resolve(this.reason)
  }

  async renew(): Promise<boolean> {
    this.renewed++
    if (this.next === null) return false
    this.rotate(...this.next)
    return true
  }

  rotate(...signers: Signer[]): void {
    this.#found += this.#keys.found
    this.generation++
    this.#keys = this.#keysOf(signers)
  }

  #keysOf(signers: readonly Signer[]): CountedKeys {
    return new CountedKeys(
      signers.map(({ jwk }) => jwk),
      this.generation,
    )
  }
}

/** `valid`, or the fault. */
export async function verdictOf(verifier: TokenVerifier, token: string): Promise<string> {
  const verification = await deadline(Promise.resolve(verifier.verify(token)), 30_000, 'a check')
  return wordFor(verification)
}

export function wordFor(verification: TokenVerification): string {
  if (verification.kind === 'invalid') return verification.fault
  return verification.kind === 'valid' ? 'valid' : `unavailable: ${verification.reason}`
}
