// The keys of an identity provider: the first one signs, all are published. It also signs forged tokens for specs.

import { SignJWT, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { JWK, JWTPayload } from 'jose'

const ALGORITHM = 'RS256'

export class SigningKeys {
  #keys: JWK[]
  #count: number

  private constructor(first: JWK) {
    this.#keys = [first]
    this.#count = 1
  }

  static async create(): Promise<SigningKeys> {
    return new SigningKeys(await keyOf('key-1'))
  }

  /** All keys with their private parts, as oidc-provider needs them. */
  get all(): JWK[] {
    return this.#keys
  }

  get kids(): string[] {
    return this.#keys.map(({ kid = '' }) => kid)
  }

  /** Adds a key that signs from now on; the old keys stay published or are removed. */
  async rotate(old: 'keep' | 'remove'): Promise<void> {
    this.#count++
    const next = await keyOf(`key-${this.#count}`)
    this.#keys = old === 'keep' ? [next, ...this.#keys] : [next]
  }

  async sign(claims: JWTPayload): Promise<string> {
    const [key] = this.#keys
    return new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: key!.kid! })
      .sign(await importJWK(key!, ALGORITHM))
  }
}

async function keyOf(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: ALGORITHM }
}
