// State about identity providers: key sets, discovery documents, verified tokens and checked passwords. It outlives
// configuration reloads, so that a reload fetches nothing and verifies no token again.

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

/** Maximum number of token verifiers, each with its cache; more than any configuration has. */
export const MAX_VERIFIERS = 256

export class IdentityStore {
  readonly keys: KeySetRegistry
  readonly documents: DiscoveryDocuments
  readonly passwords: PasswordChecker
  /** Sends client registrations and token requests to a provider. */
  readonly post: FetchDocument
  readonly log: Log
  readonly refusals: RefusalCounter
  readonly #closes: readonly (() => void)[]
  readonly #verifiers = new LRUMapWithDelete<string, TokenVerifier>(MAX_VERIFIERS)

  constructor(log: Log, refusals = new RefusalCounter()) {
    // Separate connections, so that key fetches do not wait for a flood of registrations.
    const documents = createFetcher()
    const posts = createFetcher()
    this.log = log
    this.refusals = refusals
    this.passwords = new PasswordChecker(refusals)
    this.post = posts.fetch
    this.#closes = [documents.close, posts.close]
    this.keys = new KeySetRegistry(log, documents.fetch)
    this.documents = new DiscoveryDocuments(log, documents.fetch)
  }

  /** Number of verified tokens in all caches. */
  get tokens(): number {
    return [...this.#verifiers.values()].reduce((sum, { cachedCount }) => sum + cachedCount, 0)
  }

  /** Returns the same verifier for the same rules. `defaultKeysUrl` applies when no `jwks` is configured. */
  verifier(rules: TokenRules, defaultKeysUrl = deriveKeysUrl(rules.issuer)): TokenVerifier {
    const { issuer, audiences, jwks, requiredClaims, leeway } = rules
    const key = JSON.stringify([issuer, audiences, jwks, requiredClaims, leeway, defaultKeysUrl])
    let verifier = this.#verifiers.get(key)
    if (verifier !== undefined) return verifier
    const url = keysUrlFor(rules, defaultKeysUrl)
    const source = jwks.kind === 'keys' ? createFixedKeySource(jwks.keys) : this.keys.sourceFor(url)
    verifier = new TokenVerifier(rules, source)
    this.#verifiers.set(key, verifier)
    return verifier
  }

  /** Returns one line for each provider of these policies whose keys are unavailable. */
  describeMissingKeys(policies: TokenPolicies): string[] {
    return describeKeyFaults(policies, (url) => this.keys.faultAt(url))
  }

  close(): void {
    for (const close of this.#closes) close()
    this.passwords.close()
  }
}

/** The same for keys that another process fetches; `faultAt` returns why the keys of a URL are unavailable. */
export function describeKeyFaults(
  { jwtAuth, mcpAuthentication: mcp }: TokenPolicies,
  faultAt: (url: string) => string | null,
): string[] {
  const urls = (jwtAuth?.providers ?? []).map((rules): [TokenRules, string] => [
    rules,
    deriveKeysUrl(rules.issuer),
  ])
  if (mcp !== null) urls.push([mcp, selectIdentityProvider(mcp).keysUrl(mcp.issuer)])
  return urls.flatMap(([rules, defaultKeysUrl]) => {
    const fault = faultAt(keysUrlFor(rules, defaultKeysUrl))
    return fault === null ? [] : [`cannot fetch the keys of ${rules.issuer}: ${fault}`]
  })
}

/** Returns '' when the keys are part of the configuration. */
function keysUrlFor({ jwks }: TokenRules, defaultKeysUrl: string): string {
  if (jwks.kind === 'keys') return ''
  return jwks.kind === 'url' ? jwks.url : defaultKeysUrl
}

/** The usual key set URL of an issuer without a provider adapter. */
function deriveKeysUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/jwks.json`
}
