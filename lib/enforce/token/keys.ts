// The public keys of a set, by id: which of them may check which algorithm, imported when first needed.

import { importJWK } from 'jose'
import type { CryptoKey, JWK } from 'jose'
import { keyFault } from '../../base/public-key.ts'
import type { KeyFault } from '../../base/public-key.ts'

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
const MAX_KEYS = 256

type Key = CryptoKey | Uint8Array

type Named = JWK & { readonly kid: string }

/** Why keys of a set are not used. */
export type LeftOut = KeyFault | 'algorithm' | 'kid of another' | 'too many'

export class Keys {
  /** Which of its source's sets this is. */
  readonly generation: number
  readonly #jwks = new Map<string, JWK>()
  readonly #imported = new Map<string, Promise<Key | null>>()
  readonly #leftOut = new Map<LeftOut, number>()

  /** What is of no use here is left out, so that one odd key does not cost the others. */
  constructor(jwks: readonly unknown[], generation = 0) {
    this.generation = generation
    for (const jwk of jwks.slice(0, MAX_KEYS)) this.#add(jwk)
    if (jwks.length > MAX_KEYS) this.#leftOut.set('too many', jwks.length - MAX_KEYS)
  }

  /** How many there were for each reason. */
  get leftOut(): ReadonlyMap<LeftOut, number> {
    return this.#leftOut
  }

  get ids(): string[] {
    return [...this.#jwks.keys()]
  }

  has(kid: string): boolean {
    return this.#jwks.has(kid)
  }

  /** Of two with one id the first counts. */
  #add(jwk: unknown): void {
    const reason = keyFault(jwk) ?? this.#objectionTo(jwk as Named)
    if (reason === null) this.#jwks.set((jwk as Named).kid, jwk as Named)
    else this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + 1)
  }

  #objectionTo(jwk: Named): LeftOut | null {
    if (algorithmsOf(jwk).length === 0) return 'algorithm'
    return this.#jwks.has(jwk.kid) ? 'kid of another' : null
  }

  /** The key of this id, if it may check this algorithm, and is a key at all. */
  async find(kid: string, algorithm: string): Promise<Key | null> {
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
