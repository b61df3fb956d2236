// What the gateway knows of identity providers: their keys, their documents, and the tokens it has checked. It lives
// beside the plans, so that a reload fetches nothing and checks no token anew.

import { LRUMapWithDelete } from 'mnemonist'
import type { TokenPolicies, TokenRules } from '../../config/policy-types.ts'
import { RefusalCounter } from '../../core/refusal-counter.ts'
import { createFetcher } from '../../http/fetch-document.ts'
import type { FetchDocument } from '../../http/fetch-document.ts'
import type { Log } from '../../core/log.ts'
import { PasswordChecker } from './basic-auth.ts'
import { DiscoveryDocuments } from '../oauth/discovery.ts'
import { selectIdentityProvider } from '../oauth/providers.ts'
import { createFixedKeySource, KeySetRegistry } from './key-sets.ts'
import { TokenVerifier } from './token-verifier.ts'

/** Sets of rules whose tokens are remembered; more than any configuration has. */
export const MAX_VERIFIERS = 256

type VerifierKey = readonly [rules: TokenRules, derived: string]

export class IdentityStore {
  readonly keys: KeySetRegistry
  readonly documents: DiscoveryDocuments
  readonly passwords: PasswordChecker
  /** For what clients have posted to a provider. */
  readonly post: FetchDocument
  readonly log: Log
  readonly refusals: RefusalCounter
  readonly #closes: readonly (() => void)[]
  readonly #verifiers = new LRUMapWithDelete<string, TokenVerifier>(MAX_VERIFIERS)

  constructor(log: Log, refusals = new RefusalCounter()) {
    // Each with connections of its own: keys do not wait behind a flood of registrations.
    const own = createFetcher()
    const posts = createFetcher()
    this.log = log
    this.refusals = refusals
    this.passwords = new PasswordChecker(refusals)
    this.post = posts.fetch
    this.#closes = [own.close, posts.close]
    this.keys = new KeySetRegistry(log, own.fetch)
    this.documents = new DiscoveryDocuments(log, own.fetch)
  }

  /** Tokens that were checked and are remembered. */
  get tokens(): number {
    return [...this.#verifiers.values()].reduce((sum, { cachedCount }) => sum + cachedCount, 0)
  }

  /** One and the same for the same rules. `derived` is where the keys are when the configuration does not say. */
  verifier(rules: TokenRules, derived = deriveKeysUrl(rules.issuer)): TokenVerifier {
    const { issuer, audiences, jwks, requiredClaims, leeway } = rules
    const key = JSON.stringify([issuer, audiences, jwks, requiredClaims, leeway, derived])
    let verifier = this.#verifiers.get(key)
    if (verifier !== undefined) return verifier
    const url = keysUrlFor(rules, derived)
    const source = jwks.kind === 'keys' ? createFixedKeySource(jwks.keys) : this.keys.sourceFor(url)
    verifier = new TokenVerifier(rules, source)
    this.#verifiers.set(key, verifier)
    return verifier
  }

  /** Why these policies have no keys to check tokens by: one line for each provider. */
  describeMissingKeys(policies: TokenPolicies): string[] {
    return describeKeyFaults(policies, (url) => this.keys.faultAt(url))
  }

  close(): void {
    for (const close of this.#closes) close()
    this.passwords.close()
  }
}

/** The same for keys that another process fetches: `faultAt` tells why those of a URL are not there. */
export function describeKeyFaults(
  { jwtAuth, mcpAuthentication: mcp }: TokenPolicies,
  faultAt: (url: string) => string | null,
): string[] {
  const urls = (jwtAuth?.providers ?? []).map((rules): VerifierKey => [
    rules,
    deriveKeysUrl(rules.issuer),
  ])
  if (mcp !== null) urls.push([mcp, selectIdentityProvider(mcp).keysUrl(mcp.issuer)])
  return urls.flatMap(([rules, derived]) => {
    const fault = faultAt(keysUrlFor(rules, derived))
    return fault === null ? [] : [`cannot fetch the keys of ${rules.issuer}: ${fault}`]
  })
}

/** '' where they stand in the configuration. */
function keysUrlFor({ jwks }: TokenRules, derived: string): string {
  if (jwks.kind === 'keys') return ''
  return jwks.kind === 'url' ? jwks.url : derived
}

/** Where providers that are nothing special have them. */
function deriveKeysUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`
}
