// Creates policies from their configuration, in the order in which they run. `timeout`, `retry` and `backendTLS` are not
// policies here: `forward` reads them when it calls a backend.

import type { McpAuthenticationConfig } from '../config/policy-types.ts'
import type {
  BackendAuthConfig,
  BackendPolicies,
  GatewayPolicies,
  RoutePolicies,
} from '../config/config-types.ts'
import type { Policy } from '../core/types.ts'
import { createApiKeyPolicy } from './auth/api-key.ts'
import { createAuthorizationPolicy } from './auth/authorization.ts'
import { createBackendAuthPolicy } from './auth/credentials.ts'
import { createBasicAuthPolicy } from './auth/basic-auth.ts'
import { createCorsPolicy } from './cors.ts'
import { createDirectResponsePolicy, createRedirectPolicy } from './direct-response.ts'
import {
  createRequestHeaderPolicy,
  createResponseHeaderPolicy,
  createTransformationPolicy,
} from './header-changes.ts'
import type { IdentityStore } from './auth/identity.ts'
import { createJwtAuthPolicy } from './auth/jwt-auth.ts'
import { createMcpAuthenticationPolicy } from './oauth/mcp-authentication.ts'
import { UNAMBIGUOUS_ROOTS } from './oauth/public-urls.ts'
import type { RootMetadataOwnership } from './oauth/public-urls.ts'
import { createUrlRewritePolicy } from './url-rewrite.ts'
import type { HeaderModifierConfig } from '../expressions/computed-headers.ts'

export interface ProviderPolicies {
  readonly auth: BackendAuthConfig | null
  readonly requestHeaders: HeaderModifierConfig | null
  readonly responseHeaders: HeaderModifierConfig | null
}

export class PolicyFactory {
  readonly #identity: IdentityStore

  constructor(identity: IdentityStore) {
    this.#identity = identity
  }

  createForListener(config: GatewayPolicies): Policy[] {
    return [
      ...this.#createForAdmission(config, null),
      ...createIfConfigured(config.transformations, createTransformationPolicy),
    ]
  }

  /** `roots` tells which metadata documents at the host root belong to this route; `limits` run after authentication. */
  createForRoute(
    config: RoutePolicies,
    roots = UNAMBIGUOUS_ROOTS,
    limits: readonly Policy[] = [],
  ): Policy[] {
    return [
      ...this.#createForAdmission(config, config.mcpAuthentication, roots),
      ...limits,
      ...createIfConfigured(config.transformations, createTransformationPolicy),
      ...createIfConfigured(config.responseHeaderModifier, createResponseHeaderPolicy),
      ...createIfConfigured(config.requestHeaderModifier, createRequestHeaderPolicy),
      ...createIfConfigured(config.urlRewrite, createUrlRewritePolicy),
      ...createIfConfigured(config.requestRedirect, createRedirectPolicy),
      ...createIfConfigured(config.directResponse, createDirectResponsePolicy),
    ]
  }

  /** These run after the choice of a backend; the backend's own `backendAuth` overrides that of the route. */
  createForBackend(config: BackendPolicies, route: RoutePolicies): Policy[] {
    return [
      ...createIfConfigured(config.authorization, (rules) =>
        createAuthorizationPolicy(rules, null, this.#identity.log),
      ),
      ...createIfConfigured(config.transformations, createTransformationPolicy),
      ...createIfConfigured(config.responseHeaderModifier, createResponseHeaderPolicy),
      ...createIfConfigured(config.requestHeaderModifier, createRequestHeaderPolicy),
      ...createIfConfigured(config.backendAuth ?? route.backendAuth, createBackendAuthPolicy),
    ]
  }

  /** These run before each call of one LLM provider. */
  createForProvider({ auth, requestHeaders, responseHeaders }: ProviderPolicies): Policy[] {
    return [
      ...createIfConfigured(responseHeaders, createResponseHeaderPolicy),
      ...createIfConfigured(requestHeaders, createRequestHeaderPolicy),
      ...createIfConfigured(auth, createBackendAuthPolicy),
    ]
  }

  /** `cors` is first, so that a browser can read the error responses of the policies after it. */
  #createForAdmission(
    config: GatewayPolicies,
    mcp: McpAuthenticationConfig | null,
    roots: RootMetadataOwnership = UNAMBIGUOUS_ROOTS,
  ): Policy[] {
    const identity = this.#identity
    return [
      ...createIfConfigured(config.cors, createCorsPolicy),
      ...createIfConfigured(mcp, (auth) => createMcpAuthenticationPolicy(auth, identity, roots)),
      ...createIfConfigured(config.jwtAuth, (auth) => createJwtAuthPolicy(auth, identity)),
      ...createIfConfigured(config.basicAuth, (auth) =>
        createBasicAuthPolicy(auth, identity.passwords),
      ),
      ...createIfConfigured(config.apiKey, createApiKeyPolicy),
      ...createIfConfigured(config.authorization, (rules) =>
        createAuthorizationPolicy(rules, mcp, identity.log),
      ),
    ]
  }
}

function createIfConfigured<Config>(
  config: Config | null,
  create: (config: Config) => Policy,
): Policy[] {
  return config === null ? [] : [create(config)]
}
