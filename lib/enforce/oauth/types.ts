// What an identity provider needs done for it. A provider that is not here yet is one more file that says this much.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'

/** The members of a metadata document; values as JSON gave them. */
export type Metadata = Readonly<Record<string, unknown>>

/** URLs of the gateway itself that a document names. */
export interface OwnUrls {
  readonly issuer: string
  /** Where this document is found: authorize and token requests go below it, where the gateway stands in between. */
  readonly document: string
  readonly registration: string
}

export interface Endpoints {
  readonly authorize: string
  readonly token: string
}

export interface Provider {
  /** Where its keys are (spec.md §4.3). */
  keysUrl(issuer: string): string
  /** Its own description, which the gateway's is made from; the first that is there counts. */
  discoveryUrls(issuer: string): readonly string[]
  /** What that calls the issuer, when all is well. */
  namedIssuer(issuer: string): string
  /** Members of the gateway's document that differ from the provider's; undefined takes one out. */
  edits(found: Metadata, own: OwnUrls, config: McpAuthenticationConfig): Record<string, unknown>
  /** Where clients are registered; null where it registers nobody. */
  registrationUrl(found: Metadata, issuer: string): string | null
  /** Where authorize and token requests go, when the gateway stands in between; null when clients go there themselves. */
  endpoints(issuer: string): Endpoints | null
}
