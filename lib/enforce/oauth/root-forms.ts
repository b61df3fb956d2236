// Documents that stand at a host without a path: clear where the host has one protected resource, and anybody's guess
// where it has several.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { OPENID, RESOURCE, SERVER } from '../../base/places/well-known.ts'
import { ownOf } from './own-urls.ts'

/** Whether the document without a path is this resource's, or could be somebody else's. */
export interface RootForms {
  readonly resource: 'own' | 'ambiguous'
  /** That of its authorization server; resources with the same one share it. */
  readonly server: 'own' | 'ambiguous'
}

export const OWN_ROOTS: RootForms = { resource: 'own', server: 'own' }

/** Where the documents of a resource are asked for that nobody else can have. */
export function pathForms(config: McpAuthenticationConfig): string[] {
  const { path } = ownOf(config)
  const servers = [SERVER, OPENID].flatMap((root) => [`${root}${path}`, `${path}${root}`])
  return [`${RESOURCE}${path}`, ...servers]
}

export function rootForms({ resource, server }: RootForms): string[] {
  return [...(resource === 'own' ? [RESOURCE] : []), ...(server === 'own' ? [SERVER, OPENID] : [])]
}

export function haveOneHost(one: McpAuthenticationConfig, other: McpAuthenticationConfig): boolean {
  return ownOf(one).base === ownOf(other).base
}

export function areOneResource(
  one: McpAuthenticationConfig,
  other: McpAuthenticationConfig,
): boolean {
  return haveOneHost(one, other) && ownOf(one).path === ownOf(other).path
}

export function haveOneServer(
  one: McpAuthenticationConfig,
  other: McpAuthenticationConfig,
): boolean {
  return (
    one.issuer === other.issuer &&
    one.provider === other.provider &&
    one.clientId === other.clientId
  )
}
