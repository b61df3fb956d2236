// Whose session it is: a session's id is no credential, so whoever was authenticated as somebody else has no use for it.

import { createHash } from 'node:crypto'
import type { Facts } from '../../base/cel/facts.ts'

/** '' where nobody is authenticated. */
export function principalOf(facts: Facts | null): string {
  if (facts === null) return ''
  const { jwt, apiKey, basicAuth } = facts
  if (jwt === undefined && apiKey === undefined && basicAuth === undefined) return ''
  // A token is renewed during a session; who it is for stays.
  const person = jwt === undefined ? null : [jwt.get('iss'), jwt.get('sub') ?? jwt.get('client_id')]
  const key = apiKey === undefined ? null : [...apiKey]
  return createHash('sha256')
    .update(JSON.stringify([person, key, basicAuth?.username], asText))
    .digest('base64')
}

/** Facts hold BigInts and Maps. */
function asText(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Map ? [...value] : value
}
