// Whose session it is: a session's id is no credential, so whoever was authenticated as somebody else has no use for it.

import type { Facts } from '../../base/cel/facts.ts'

const PERSON = ['sub', 'oid', 'preferred_username', 'client_id', 'azp']

/** '' where nobody is authenticated. */
export function principalOf(facts: Facts | null): string {
  if (facts === null) return ''
  const { jwt, apiKeyHash, basicAuth } = facts
  if (jwt === undefined && apiKeyHash === undefined && basicAuth === undefined) return ''
  // A token is renewed during a session; who it is for stays. Not every provider says that in `sub`.
  const claims = PERSON.map((name) => jwt?.get(name))
  const parts = [jwt?.get('iss'), ...claims, apiKeyHash, basicAuth?.username]
  return JSON.stringify(parts.map(textOf))
}

/** Claims are texts or, of some providers, numbers. */
function textOf(claim: unknown): string | null {
  if (typeof claim === 'bigint' || typeof claim === 'number') return `${claim}`
  return typeof claim === 'string' ? claim : null
}
