// The words of token checks.

import type { Claims } from '../../base/cel/facts.ts'

/** What is wrong with a token, by class: clients are told this much and no more. */
export type TokenFault =
  | 'malformed'
  | 'too large'
  | 'algorithm'
  | 'unknown key'
  | 'signature'
  | 'expired'
  | 'not valid yet'
  | 'issuer'
  | 'audience'
  | 'missing claim'

/** `unavailable`: the keys to check it by cannot be had now; that is not the client's fault. */
export type Verification =
  | { readonly kind: 'valid'; readonly claims: Claims; readonly scopes: readonly string[] }
  | { readonly kind: 'invalid'; readonly fault: TokenFault }
  | { readonly kind: 'unavailable'; readonly reason: string }

export interface Verifier {
  /** At once for a token that was checked before, and for one that is wrong by its looks; otherwise a promise. */
  verify(token: string): Verification | Promise<Verification>
}
