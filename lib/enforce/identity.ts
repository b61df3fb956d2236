// What the gateway knows of identity providers: their keys, their documents, and the tokens it has checked. It lives
// beside the plans, so that a reload fetches nothing and checks no token anew.

import { LRUMapWithDelete } from 'mnemonist'
import type { TokenPolicies, TokenRules } from '../base/config/auth-types.ts'
import { Refusals } from '../base/bounds/refusals.ts'
import { fetcher } from '../base/fetch-text.ts'
import type { Fetch } from '../base/fetch-text.ts'
import type { Log } from '../base/log/log.ts'
import { Passwords } from './basic-auth/passwords.ts'
import { Documents } from './oauth/documents.ts'
import { providerOf } from './oauth/provider-of.ts'
import { fixedKeys, KeySets } from './token/key-sets.ts'
import { TokenVerifier } from './token/token-verifier.ts'

/** Sets of rules whose tokens are remembered; more than any configuration has. */
export const MAX_VERIFIERS = 256

type Asked = readonly [rules: TokenRules, derived: string]

export class Identity {
  readonly keys: KeySets
  readonly documents: Documents
  readonly passwords: Passwords
  /** For what clients have posted to a provider. */
  readonly post: Fetch
  readonly log: Log
  readonly refusals: Refusals
  readonly #closes: readonly (() => void)[]
  readonly #verifiers = new LRUMapWithDelete<string, TokenVerifier>(MAX_VERIFIERS)

  constructor(log: Log, refusals = new Refusals()) {
    // Each with connections of its own: keys do not wait behind a flood of registrations.
    const own = fetcher()
    const posts = fetcher()
    this.log = log
    this.refusals = refusals
    this.passwords = new Passwords(refusals)
    this.post = posts.fetch
    this.#closes = [own.close, posts.close]
    this.keys = new KeySets(log, own.fetch)
    this.documents = new Documents(log, own.fetch)
  }

  /** Tokens that were checked and are remembered. */
  get tokens(): number {
    return [...this.#verifiers.values()].reduce((sum, { remembered }) => sum + remembered, 0)
  }

  /** One and the same for the same rules. `derived` is where the keys are when the configuration does not say. */
  verifier(rules: TokenRules, derived = derivedUrl(rules.issuer)): TokenVerifier {
    const { issuer, audiences, jwks, requiredClaims, leeway } = rules
    const key = JSON.stringify([issuer, audiences, jwks, requiredClaims, leeway, derived])
    let verifier = this.#verifiers.get(key)
    if (verifier !== undefined) return verifier
    const url = keysUrl(rules, derived)
    const source = jwks.kind === 'keys' ? fixedKeys(jwks.keys) : this.keys.at(url)
    verifier = new TokenVerifier(rules, source)
    this.#verifiers.set(key, verifier)
    return verifier
  }

  /** Why these policies have no keys to check tokens by: one line for each provider. */
  faultsOf(policies: TokenPolicies): string[] {
    return keyFaults(policies, (url) => this.keys.faultAt(url))
  }

  close(): void {
    for (const close of this.#closes) close()
    this.passwords.close()
  }
}

/** The same for keys that another process fetches: `faultAt` tells why those of a URL are not there. */
export function keyFaults(
  { jwtAuth, mcpAuthentication: mcp }: TokenPolicies,
  faultAt: (url: string) => string | null,
): string[] {
  const urls = (jwtAuth?.providers ?? []).map((rules): Asked => [rules, derivedUrl(rules.issuer)])
  if (mcp !== null) urls.push([mcp, providerOf(mcp).keysUrl(mcp.issuer)])
  return urls.flatMap(([rules, derived]) => {
    const fault = faultAt(keysUrl(rules, derived))
    return fault === null ? [] : [`cannot fetch the keys of ${rules.issuer}: ${fault}`]
  })
}

/** '' where they stand in the configuration. */
function keysUrl({ jwks }: TokenRules, derived: string): string {
  if (jwks.kind === 'keys') return ''
  return jwks.kind === 'url' ? jwks.url : derived
}

/** Where providers that are nothing special have them. */
function derivedUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`
}
