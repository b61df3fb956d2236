// Under which URLs the gateway is known to MCP clients. All come from the configured resource, never from what a
// client sent as Host: metadata that somebody else can bend would send people to log in elsewhere.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import { RESOURCE, SERVER } from '../../base/places/well-known.ts'
import type { Form } from './place-of.ts'
import type { RootForms } from './root-forms.ts'
import type { OwnUrls } from './types.ts'

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

/** The gateway as an authorization server: what is advertised, and what its document says (RFC 8414 3.3). */
export function issuerUrl(config: McpAuthenticationConfig, form: Form): string {
  const { base, path } = ownOf(config)
  return form === 'bare' ? base : `${base}${path}`
}

/** What the document of that server says, by the form in which it was looked up. */
export function serverUrls(config: McpAuthenticationConfig, form: Form, roots: RootForms): OwnUrls {
  const { base, path } = ownOf(config)
  return {
    issuer: issuerUrl(config, form),
    document: `${base}${SERVER}${form === 'bare' ? '' : path}`,
    registration: registrationUrl(config, roots),
  }
}

/** spec.md §2.5, unless that could be the registration of another server. */
export function registrationUrl(config: McpAuthenticationConfig, { server }: RootForms): string {
  const { base, path } = ownOf(config)
  return `${base}${SERVER}${server === 'own' ? '' : path}${REGISTRATION}`
}
