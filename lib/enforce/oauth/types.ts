// What an identity provider needs done for it. A provider that is not here yet is one more file that says this much.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'

/** The members of a metadata document; values as JSON gave them. */
export type Metadata = Record<string, unknown>

/** The URLs under which the gateway itself is known to a client, without a slash at their ends. */
export interface OwnUrls {
  /** What is advertised as the authorization server, and so the `issuer` of the document: `{base}/mcp`. */
  readonly issuer: string
  /** `{base}/.well-known/oauth-authorization-server` and its suffix, if it was asked with one. */
  readonly metadata: string
  /** Where registrations go: spec.md §2.5. */
  readonly registration: string
}

export interface Provider {
  readonly name: 'idp_realm' | 'idp_tenant' | 'auth0'
  /** Where its keys are (spec.md §4.3). */
  keysUrl(issuer: string): string
  /** Its own description, which the gateway's is made from. */
  discoveryUrl(issuer: string): string
  /** The gateway's document out of the provider's. */
  metadata(found: Metadata, own: OwnUrls, config: McpAuthenticationConfig): Metadata
  /** Where clients are registered; null where the gateway answers by itself. */
  registrationUrl(config: McpAuthenticationConfig): string | null
  /** Where authorize and token requests go, when the gateway stands in between; null when clients go there themselves. */
  readonly endpoints: ((issuer: string) => { authorize: string; token: string }) | null
}
