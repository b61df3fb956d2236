// The jwtAuth policy: verifies bearer tokens; with several providers, the issuer claim selects one. Also the token check
// and the bearer challenge that it shares with mcpAuthentication.

import type { AuthMode, CredentialLocation, JwtAuthConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import { buildTextReply } from '../../core/replies.ts'
import type { Policy, Reply, Verdict } from '../../core/types.ts'
import { findCredential, removeCredential } from './credentials.ts'
import type { IdentityStore } from './identity.ts'
import type { TokenFault, TokenVerification, Verifier } from './token-verifier.ts'

export function createJwtAuthPolicy(config: JwtAuthConfig, identity: IdentityStore): Policy {
  const { mode, location, providers } = config
  const check: TokenCheck = {
    mode,
    location,
    verifier: new MultiIssuerVerifier(
      providers.map((rules) => [rules.issuer, identity.verifier(rules)]),
    ),
    missing: () => rejectJwt('no bearer token found', null),
    invalid: (_exchange, fault) => rejectJwt(`the token is not valid: ${fault}`, fault),
    unavailable: () =>
      buildTextReply(503, 'authentication failure: signing keys of the issuer are unavailable'),
  }
  return { kind: 'jwtAuth', request: (exchange) => checkToken(check, exchange) }
}

function rejectJwt(reason: string, fault: TokenFault | null) {
  const reply = buildTextReply(401, `authentication failure: ${reason}`)
  reply.head.add('www-authenticate', formatBearerChallenge(challengeParametersOf(fault)))
  return reply
}

/** What a token policy needs for `checkToken`: how to find and verify the token, and its error responses. */
export interface TokenCheck {
  readonly mode: AuthMode
  readonly location: CredentialLocation
  readonly verifier: Verifier
  /** Creates the response to a request without a token. */
  missing(exchange: Exchange): Reply
  invalid(exchange: Exchange, fault: TokenFault): Reply
  unavailable(exchange: Exchange, reason: string): Reply
}

export function checkToken(check: TokenCheck, exchange: Exchange): Verdict {
  const found = findCredential(exchange, check.location)
  if (found.kind === 'none') {
    if (check.mode !== 'strict') {
      exchange.trace?.skipPolicy(`no token, and mode is ${check.mode}`)
      return undefined
    }
    exchange.enforcement.refusalReason = 'token_missing'
    return check.missing(exchange)
  }
  if (found.kind === 'several')
    return applyVerification(check, exchange, '', { kind: 'invalid', fault: 'malformed' })
  const token = found.value
  const verification = check.verifier.verify(token)
  return verification instanceof Promise
    ? verification.then((result) => applyVerification(check, exchange, token, result))
    : applyVerification(check, exchange, token, verification)
}

/** In mode `permissive` an invalid token is treated as a missing one, and stays on the request. */
function applyVerification(
  check: TokenCheck,
  exchange: Exchange,
  token: string,
  verification: TokenVerification,
): Reply | undefined {
  if (verification.kind === 'valid') {
    exchange.addFacts({ jwt: verification.claims })
    removeCredential(exchange, check.location, token)
    exchange.trace?.notePolicy('token verified')
    return undefined
  }
  if (check.mode === 'permissive') {
    exchange.trace?.skipPolicy('token not verified, and mode is permissive')
    return undefined
  }
  if (verification.kind === 'unavailable') {
    exchange.enforcement.refusalReason = 'keys_unavailable'
    return check.unavailable(exchange, verification.reason)
  }
  exchange.enforcement.refusalReason = `token_${verification.fault.replaceAll(' ', '_')}`
  return check.invalid(exchange, verification.fault)
}

/** Verifies a token by the rules of the issuer that it names. */
export class MultiIssuerVerifier implements Verifier {
  readonly #only: Verifier | null
  readonly #byIssuer: ReadonlyMap<string, Verifier>

  constructor(verifiers: readonly (readonly [issuer: string, verifier: Verifier])[]) {
    this.#byIssuer = new Map(verifiers)
    const [first] = verifiers
    this.#only = first !== undefined && verifiers.length === 1 ? first[1] : null
  }

  verify(token: string): TokenVerification | Promise<TokenVerification> {
    if (this.#only !== null) return this.#only.verify(token)
    // The issuer is not verified yet, and is only used to choose the verifier.
    const verifier = this.#byIssuer.get(readClaimedIssuer(token))
    return verifier?.verify(token) ?? { kind: 'invalid', fault: 'issuer' }
  }
}

function readClaimedIssuer(token: string): string {
  try {
    const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
    const { iss }: { iss?: unknown } = JSON.parse(text) ?? {}
    return typeof iss === 'string' ? iss : ''
  } catch {
    return ''
  }
}

export type ChallengeParameter = readonly [name: string, value: string]

/** Formats a `www-authenticate` value (RFC 6750 3). The values are put in quotes without escaping. */
export function formatBearerChallenge(parameters: readonly ChallengeParameter[]): string {
  const texts = parameters.map(([name, value]) => `${name}="${value}"`)
  return texts.length === 0 ? 'Bearer' : `Bearer ${texts.join(', ')}`
}

/** Names the kind of fault without any text of the token; returns none for a missing token (null). */
export function challengeParametersOf(fault: TokenFault | null): readonly ChallengeParameter[] {
  if (fault === null) return []
  return [
    ['error', 'invalid_token'],
    ['error_description', `the token is not valid: ${fault}`],
  ]
}
