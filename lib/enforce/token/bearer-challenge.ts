// The `www-authenticate` of whoever wants bearer tokens (RFC 6750 3).

import type { TokenFault } from './types.ts'

export type Parameter = readonly [name: string, value: string]

/** Values must be fit for quotes as they are. */
export function bearerChallenge(parameters: readonly Parameter[]): string {
  const texts = parameters.map(([name, value]) => `${name}="${value}"`)
  return texts.length === 0 ? 'Bearer' : `Bearer ${texts.join(', ')}`
}

/** The class of what is wrong, and nothing of the token; none for one that is missing (null). */
export function faultParameters(fault: TokenFault | null): readonly Parameter[] {
  if (fault === null) return []
  return [
    ['error', 'invalid_token'],
    ['error_description', `the token is not valid: ${fault}`],
  ]
}
