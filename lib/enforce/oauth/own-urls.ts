// Under which URLs the gateway is known to MCP clients. All come from the configured resource, never from what a
// client sent as Host: metadata that somebody else can bend would send people to log in elsewhere.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'

export const RESOURCE = '/.well-known/oauth-protected-resource'
export const SERVER = '/.well-known/oauth-authorization-server'
export const OPENID = '/.well-known/openid-configuration'
export const REGISTRATION = '/client-registration'

export interface Own {
  /** `https://gateway.example` */
  readonly base: string
  /** The path of the resource: `/mcp`, or '' for the root. */
  readonly path: string
}

export function ownOf({ resourceMetadata }: McpAuthenticationConfig): Own {
  const { origin, pathname } = new URL(resourceMetadata.resource)
  return { base: origin, path: pathname.replace(/\/$/, '') }
}

/** Where the resource's metadata is (RFC 9728). */
export function resourceMetadataUrl(config: McpAuthenticationConfig): string {
  const { base, path } = ownOf(config)
  return `${base}${RESOURCE}${path}`
}

/** spec.md §2.5 */
export function registrationUrl(config: McpAuthenticationConfig): string {
  return `${ownOf(config).base}${SERVER}${REGISTRATION}`
}
