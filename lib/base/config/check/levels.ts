// Policies of a listener and of its routes that cannot stand behind each other.

import type { CredentialLocation } from '../auth-types.ts'
import type { Path } from '../error.ts'
import type { ListenerConfig, RoutePolicies } from '../types.ts'
import type { Context } from './context.ts'

/** Each with those that would look for the same credential on the listener. */
const SAME = {
  jwtAuth: 'jwtAuth',
  mcpAuthentication: 'jwtAuth',
  apiKey: 'apiKey',
  basicAuth: 'basicAuth',
} as const

/** A listener that has verified a credential takes it off the request: the route would not find it. */
export function checkLevels(
  context: Context,
  path: Path,
  policies: Pick<RoutePolicies, keyof typeof SAME>,
  listener: Pick<ListenerConfig, 'key' | 'policies'>,
): void {
  for (const name of ['jwtAuth', 'mcpAuthentication', 'apiKey', 'basicAuth'] as const) {
    const inner = policies[name]
    const outer = listener.policies[SAME[name]]
    if (inner === null || outer === null || !isSame(inner.location, outer.location)) continue
    context.problem(
      [...path, name],
      `got ${name} behind ${SAME[name]} of ${listener.key}, expected one of them: both read the same credential`,
      'key',
    )
  }
}

function isSame(a: CredentialLocation, b: CredentialLocation): boolean {
  if (a.kind === 'expression')
    return b.kind === 'expression' && a.expression.source === b.expression.source
  if (b.kind === 'expression' || a.kind !== b.kind || a.name !== b.name) return false
  const prefixOf = (one: typeof a): string => (one.kind === 'header' ? one.prefix : '')
  return prefixOf(a).toLowerCase() === prefixOf(b).toLowerCase()
}
