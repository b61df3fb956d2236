// Types of checked authentication, authorization and rate limit policies.

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

/** A public JWK of type RSA, EC or OKP. */
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
  /** An empty list accepts any audience. */
  readonly audiences: readonly string[]
  readonly jwks: KeySet
  readonly requiredClaims: readonly string[]
  /** Milliseconds. */
  readonly leeway: number
}

/** Fields of the protected resource metadata document; null fields are omitted. */
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
  /** The authorization server that clients see: the gateway or the identity provider. */
  readonly issuerMode: 'gateway' | 'provider'
  readonly clientId: string | null
  readonly clientSecret: Secret | null
  /** Where PKCE is required of clients of `idp_tenant`: at the authorize endpoint, or also for the client secret. */
  readonly requirePkce: 'authorize' | 'strict'
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
  /** At least one; each may hold the key. */
  readonly locations: readonly CredentialLocation[]
  readonly keys: readonly ApiKeyEntry[]
}

export interface ApiKeyEntry {
  /** SHA-256 of the key in lower case hex; the key itself is not stored. */
  readonly hash: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** null allows any model. */
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

/** The policies that verify JWTs. */
export interface TokenPolicies {
  readonly jwtAuth: JwtAuthConfig | null
  readonly mcpAuthentication: McpAuthenticationConfig | null
}

/** A local limit from either config form (`rateLimit.local` or `localRateLimit`), before its key is compiled. */
export interface LimitShape {
  readonly counts: 'requests' | 'tokens'
  readonly amount: number
  readonly most: number
  readonly interval: number
  readonly key: string | null
}

/** A local limit: one bucket, or one bucket for each value of `key`. */
export interface LimitConfig {
  /** Config path of the limit, such as `routes[0].policies.rateLimit.local[0]`. */
  readonly name: string
  /** Name of the policy resource that defines the limit; null for an inline limit. */
  readonly resource: string | null
  readonly counts: 'requests' | 'tokens'
  /** Requests or tokens added at the end of each interval. */
  readonly amount: number
  /** Capacity of the bucket: amount plus burst. */
  readonly most: number
  /** Milliseconds. */
  readonly interval: number
  /** null for one shared bucket. */
  readonly key: Expression | null
}

export interface RemoteLimitConfig {
  readonly endpoint: EndpointAddress
  readonly domain: string
  /** Milliseconds to wait for the service; null for the default. */
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
