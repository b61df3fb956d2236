// What checked authentication and authorization policies mean.

import type { Expression } from '../expressions/compile.ts'
import type { AuthorizationRule } from '../expressions/rules.ts'
import type { Secret } from '../text/secret.ts'
import type { EndpointAddress } from './config-types.ts'

export type AuthMode = 'strict' | 'optional' | 'permissive'

export type CredentialLocation =
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string }
  | { readonly kind: 'query'; readonly name: string }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'expression'; readonly expression: Expression }

/** A public key of a key set; RSA, EC or OKP, with a `kid`. */
export interface PublicKey {
  readonly kid: string
  readonly kty: string
  readonly [field: string]: unknown
}

export type KeySet =
  | { readonly kind: 'derived' }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'keys'; readonly keys: readonly PublicKey[] }

export interface TokenRules {
  readonly issuer: string
  /** None means any. */
  readonly audiences: readonly string[]
  readonly jwks: KeySet
  readonly requiredClaims: readonly string[]
  /** Milliseconds. */
  readonly leeway: number
}

/** Fields of the protected resource metadata; null is left out. */
export interface ResourceMetadata {
  readonly resource: string
  readonly scopesSupported: readonly string[] | null
  readonly bearerMethodsSupported: readonly string[] | null
  readonly resourceName: string | null
  readonly resourceDocumentation: string | null
  readonly resourcePolicyUri: string | null
  readonly resourceTosUri: string | null
}

export interface McpAuthenticationConfig extends TokenRules {
  readonly mode: AuthMode
  readonly location: CredentialLocation
  readonly provider: 'idp_realm' | 'idp_tenant' | 'auth0' | null
  /** Who is advertised as the authorization server: the gateway, or the provider itself. */
  readonly issuerMode: 'gateway' | 'provider'
  readonly clientId: string | null
  readonly clientSecret: Secret | null
  readonly resourceMetadata: ResourceMetadata
}

export interface JwtAuthConfig {
  readonly mode: AuthMode
  readonly location: CredentialLocation
  /** At least one. */
  readonly providers: readonly TokenRules[]
}

export interface ApiKeyConfig {
  readonly mode: AuthMode
  readonly location: CredentialLocation
  readonly keys: readonly ApiKeyEntry[]
}

export interface ApiKeyEntry {
  /** SHA-256 of the key in lower case hex; the key itself is not kept. */
  readonly hash: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** null for any. */
  readonly allowedModels: readonly string[] | null
}

export interface BasicAuthConfig {
  readonly mode: 'strict' | 'optional'
  readonly realm: string
  readonly location: CredentialLocation
  readonly users: readonly { readonly name: string; readonly hash: Secret }[]
}

export interface AuthorizationConfig {
  readonly rules: readonly AuthorizationRule[]
}

/** What asks for tokens. */
export interface TokenPolicies {
  readonly jwtAuth: JwtAuthConfig | null
  readonly mcpAuthentication: McpAuthenticationConfig | null
}

// What checked rate limits mean.

/** A limit as it was written, whichever names were used; its key is not compiled yet. */
export interface LimitShape {
  readonly counts: 'requests' | 'tokens'
  readonly amount: number
  readonly most: number
  readonly interval: number
  readonly key: string | null
}

/** A bucket, or one for each value of `key`. */
export interface LimitConfig {
  /** Where it was written, such as `routes[0].policies.rateLimit.local[0]`. */
  readonly name: string
  /** The policy resource it comes from; null for one that stands in its route. */
  readonly resource: string | null
  readonly counts: 'requests' | 'tokens'
  /** Added at the end of each interval. */
  readonly amount: number
  /** What a full bucket holds: the amount and the burst. */
  readonly most: number
  /** Milliseconds. */
  readonly interval: number
  /** null: one bucket for all. */
  readonly key: Expression | null
}

export interface RemoteLimitConfig {
  readonly endpoint: EndpointAddress
  readonly domain: string
  /** Milliseconds for an answer; null for the default. */
  readonly timeout: number | null
  readonly failureMode: 'failClosed' | 'failOpen'
  readonly descriptors: readonly RemoteDescriptor[]
}

export interface RemoteDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: Expression }[]
  readonly counts: 'requests' | 'tokens'
  readonly cost: Expression | null
  readonly limitOverride: Expression | null
}
