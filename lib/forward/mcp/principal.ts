// Whose session it is: a session's id is no credential, so whoever was authenticated as somebody else has no use for it.

import type { Facts } from '../../base/cel/facts.ts'

/** '' where nobody is authenticated. */
export function principalOf(facts: Facts | null): string {
  if (facts === null) return ''
  const { jwt, apiKeyHash, basicAuth } = facts
  if (jwt === undefined && apiKeyHash === undefined && basicAuth === undefined) return ''
  // A token is renewed during a session; who it is for stays.
  const who = jwt?.get('sub') ?? jwt?.get('client_id') ?? jwt?.get('azp')
  const parts = [jwt?.get('iss'), who, apiKeyHash, basicAuth?.username]
  return JSON.stringify(parts.map(textOf))
}

/** Claims are texts or, of some providers, numbers. */
function textOf(claim: unknown): string | null {
  if (typeof claim === 'bigint' || typeof claim === 'number') return `${claim}`
  return typeof claim === 'string' ? claim : null
}
