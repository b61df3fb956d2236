// jwtAuth: bearer tokens in front of anything; of several providers the one that the token names by its issuer.

import type { JwtAuthConfig } from '../base/config/auth-types.ts'
import { textReply } from '../base/reply.ts'
import type { Policy } from '../base/types.ts'
import type { Identity } from './identity.ts'
import { AnyVerifier } from './token/any-verifier.ts'
import { bearerChallenge, faultParameters } from './token/bearer-challenge.ts'
import { checkToken } from './token/check-token.ts'
import type { TokenCheck } from './token/check-token.ts'
import type { TokenFault } from './token/types.ts'

export function jwtAuth(config: JwtAuthConfig, identity: Identity): Policy {
  const { mode, location, providers } = config
  const check: TokenCheck = {
    mode,
    location,
    verifier: new AnyVerifier(providers.map((rules) => [rules.issuer, identity.verifier(rules)])),
    missing: () => refused('no bearer token found', null),
    invalid: (_exchange, fault) => refused(`the token is not valid: ${fault}`, fault),
    unavailable: () => textReply(503, 'authentication failure: the keys cannot be had now'),
  }
  return { kind: 'jwtAuth', request: (exchange) => checkToken(check, exchange) }
}

function refused(reason: string, fault: TokenFault | null) {
  const reply = textReply(401, `authentication failure: ${reason}`)
  reply.head.add('www-authenticate', bearerChallenge(faultParameters(fault)))
  return reply
}
