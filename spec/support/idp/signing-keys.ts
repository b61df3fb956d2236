// The keys of an identity provider: the first one signs, all are published. Crafted tokens are signed here too.

import { SignJWT, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { JWK, JWTPayload } from 'jose'

const ALGORITHM = 'RS256'

export class SigningKeys {
  #keys: JWK[]
  #made: number

  private constructor(first: JWK) {
    this.#keys = [first]
    this.#made = 1
  }

  static async create(): Promise<SigningKeys> {
    return new SigningKeys(await keyOf('key-1'))
  }

  /** With their private halves, as oidc-provider wants them. */
  get all(): JWK[] {
    return this.#keys
  }

  get kids(): string[] {
    return this.#keys.map(({ kid = '' }) => kid)
  }

  /** `beside`: the old ones are still published. `instead`: they are not. */
  async rotate(old: 'keep' | 'remove'): Promise<void> {
    this.#made++
    const next = await keyOf(`key-${this.#made}`)
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
