// Checks whether a JSON Web Key can verify signatures, and names the fault if it cannot.

import { createPublicKey } from 'node:crypto'
import type { JsonWebKey } from 'node:crypto'

/** RFC 7518 3.3: shorter RSA keys are not secure. */
export const MIN_RSA_BITS = 2_048

export type PublicKeyFault =
  'no object' | 'no kid' | 'private' | 'key type' | 'not for signatures' | 'malformed' | 'too short'

const KEY_TYPES = ['RSA', 'EC', 'OKP']

export function findPublicKeyFault(key: unknown): PublicKeyFault | null {
  if (typeof key !== 'object' || key === null) return 'no object'
  const { kid, kty, use, key_ops: operations, d } = key as Record<string, unknown>
  if (!KEY_TYPES.includes(String(kty))) return 'key type'
  if (typeof kid !== 'string' || kid === '') return 'no kid'
  if (d !== undefined) return 'private'
  const canVerify =
    (use === undefined || use === 'sig') &&
    (!Array.isArray(operations) || operations.includes('verify'))
  return canVerify ? findKeyMaterialFault(key) : 'not for signatures'
}

function findKeyMaterialFault(key: object): PublicKeyFault | null {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
    const { modulusLength = MIN_RSA_BITS } = asymmetricKeyDetails ?? {}
    return modulusLength < MIN_RSA_BITS ? 'too short' : null
  } catch {
    return 'malformed'
  }
}
