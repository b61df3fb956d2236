// One token policy's decision: who may go on, with which claims, and what is wrong with the others.

import type { AuthMode, CredentialLocation } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { Reply, Verdict } from '../../base/types.ts'
import { findCredential, removeCredential } from '../credential.ts'
import type { TokenFault, Verification, Verifier } from './types.ts'

export interface TokenCheck {
  readonly mode: AuthMode
  readonly location: CredentialLocation
  readonly verifier: Verifier
  /** The answer to a request without a token. */
  missing(exchange: Exchange): Reply
  invalid(exchange: Exchange, fault: TokenFault): Reply
  unavailable(exchange: Exchange, reason: string): Reply
}

export function checkToken(check: TokenCheck, exchange: Exchange): Verdict {
  const found = findCredential(exchange, check.location)
  if (found.kind === 'none') {
    if (check.mode !== 'strict') {
      exchange.trace?.skip(`no token, and mode is ${check.mode}`)
      return undefined
    }
    exchange.refusal = 'token_missing'
    return check.missing(exchange)
  }
  if (found.kind === 'several')
    return decide(check, exchange, '', { kind: 'invalid', fault: 'malformed' })
  const token = found.value
  const verification = check.verifier.verify(token)
  return verification instanceof Promise
    ? verification.then((one) => decide(check, exchange, token, one))
    : decide(check, exchange, token, verification)
}

/** `permissive` refuses nobody: a bad token counts as none, and stays on the request. */
function decide(
  check: TokenCheck,
  exchange: Exchange,
  token: string,
  verification: Verification,
): Reply | undefined {
  if (verification.kind === 'valid') {
    exchange.learn({ jwt: verification.claims })
    removeCredential(exchange, check.location, token)
    exchange.trace?.note('token verified')
    return undefined
  }
  if (check.mode === 'permissive') {
    exchange.trace?.skip('token not verified, and mode is permissive')
    return undefined
  }
  if (verification.kind === 'unavailable') {
    exchange.refusal = 'keys_unavailable'
    return check.unavailable(exchange, verification.reason)
  }
  exchange.refusal = `token_${verification.fault.replaceAll(' ', '_')}`
  return check.invalid(exchange, verification.fault)
}
