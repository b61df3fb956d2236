// Builds the key of the authenticated user of a request; `McpGroup.find` compares it with the owner of the session.

import type { ExchangeFacts } from '../../core/facts.ts'

const PRINCIPAL_CLAIMS = ['sub', 'oid', 'preferred_username', 'client_id', 'azp']

/** Returns a key of the authenticated principal; empty without authentication. */
export function principalOf(facts: ExchangeFacts | null): string {
  if (facts === null) return ''
  const { jwt, apiKeyHash, basicAuth } = facts
  if (jwt === undefined && apiKeyHash === undefined && basicAuth === undefined) return ''
  // A token is renewed during a session but its subject stays. Not every provider puts the subject in `sub`.
  const claims = PRINCIPAL_CLAIMS.map((name) => jwt?.get(name))
  const parts = [jwt?.get('iss'), ...claims, apiKeyHash, basicAuth?.username]
  return JSON.stringify(parts.map(claimTextOf))
}

/** Some providers send numbers instead of strings. */
function claimTextOf(claim: unknown): string | null {
  if (typeof claim === 'bigint' || typeof claim === 'number') return `${claim}`
  return typeof claim === 'string' ? claim : null
}
