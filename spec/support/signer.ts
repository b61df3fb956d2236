// A signer with a private key: signs valid tokens, and tokens that no library would make.

import { createSign, KeyObject, sign } from 'node:crypto'
import { exportJWK, generateKeyPair } from 'jose'
import type { CryptoKey, JWK } from 'jose'

type Json = Record<string, unknown>

export class Signer {
  readonly kid: string
  readonly alg: string
  /** The public key, as an identity provider lists it. */
  readonly jwk: JWK & { kid: string }
  readonly #key: KeyObject

  private constructor(alg: string, jwk: JWK & { kid: string }, key: CryptoKey) {
    this.kid = jwk.kid
    this.alg = alg
    this.jwk = jwk
    this.#key = KeyObject.from(key)
  }

  static async make(alg: string, kid: string): Promise<Signer> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    return new Signer(alg, { ...(await exportJWK(publicKey)), kid }, privateKey)
  }

  /** A token; `alg` and `kid` in the header are those of this signer unless given. */
  token(claims: Json, header: Json = {}): string {
    return this.signed({ alg: this.alg, kid: this.kid, ...header }, JSON.stringify(claims))
  }

  /** A token of any header and payload text. */
  signed(header: Json | string, payload: string): string {
    const text = typeof header === 'string' ? header : JSON.stringify(header)
    const input = `${base64(text)}.${base64(payload)}`
    return `${input}.${this.#signatureOf(input).toString('base64url')}`
  }

  #signatureOf(input: string): Buffer {
    if (this.alg === 'EdDSA') return sign(null, Buffer.from(input), this.#key)
    const hash = createSign(`sha${this.alg.slice(2)}`).update(input)
    if (this.alg.startsWith('RS')) return hash.sign(this.#key)
    if (this.alg.startsWith('ES')) return hash.sign({ key: this.#key, dsaEncoding: 'ieee-p1363' })
    return hash.sign({ key: this.#key, padding: 6, saltLength: -1 })
  }
}

export function base64(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url')
}
