// Several issuers, one policy: a token is checked by the rules of the issuer it names.

import type { Verification, Verifier } from './types.ts'

export class AnyVerifier implements Verifier {
  readonly #only: Verifier | null
  readonly #byIssuer: ReadonlyMap<string, Verifier>

  constructor(verifiers: readonly (readonly [issuer: string, verifier: Verifier])[]) {
    this.#byIssuer = new Map(verifiers)
    const [first] = verifiers
    this.#only = first !== undefined && verifiers.length === 1 ? first[1] : null
  }

  verify(token: string): Verification | Promise<Verification> {
    if (this.#only !== null) return this.#only.verify(token)
    // Read before it is verified, and used for nothing but to choose who verifies it.
    const verifier = this.#byIssuer.get(claimedIssuer(token))
    return verifier?.verify(token) ?? { kind: 'invalid', fault: 'issuer' }
  }
}

function claimedIssuer(token: string): string {
  try {
    const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    const { iss }: { iss?: unknown } = JSON.parse(text) ?? {}
    return typeof iss === 'string' ? iss : ''
  } catch {
    return ''
  }
}
