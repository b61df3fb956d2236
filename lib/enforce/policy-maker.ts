// Policies made from their configuration, in the order in which they run. `timeout`, `retry` and `backendTLS` are not
// among them: they say how `forward` calls, and decide nothing themselves.

import type { McpAuthenticationConfig } from '../base/config/auth-types.ts'
import type {
  BackendAuthConfig,
  BackendPolicies,
  GatewayPolicies,
  RoutePolicies,
} from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'
import { apiKey } from './api-key.ts'
import { authorization } from './authorization.ts'
import { backendAuth } from './backend-auth.ts'
import { basicAuth } from './basic-auth.ts'
import { cors } from './cors.ts'
import { directResponse } from './direct-response.ts'
import { requestHeaderModifier, responseHeaderModifier } from './header-modifier.ts'
import type { Identity } from './identity.ts'
import { jwtAuth } from './jwt-auth.ts'
import { mcpAuthentication } from './mcp-authentication.ts'
import { OWN_ROOTS } from './oauth/root-forms.ts'
import type { RootForms } from './oauth/root-forms.ts'
import { requestRedirect } from './redirect.ts'
import { transformations } from './transformations.ts'
import { urlRewrite } from './url-rewrite.ts'
import type { HeaderModifierConfig } from '../base/cel/computed-headers.ts'

export interface ProviderPolicies {
  readonly auth: BackendAuthConfig | null
  readonly requestHeaders: HeaderModifierConfig | null
  readonly responseHeaders: HeaderModifierConfig | null
}

export class PolicyMaker {
  readonly #identity: Identity

  constructor(identity: Identity) {
    this.#identity = identity
  }

  ofListener(config: GatewayPolicies): Policy[] {
    return [...this.#admission(config, null), ...made(config.transformations, transformations)]
  }

  /** `roots` are the documents without a path that are this route's; `limits` stand behind who one is. */
  ofRoute(config: RoutePolicies, roots = OWN_ROOTS, limits: readonly Policy[] = []): Policy[] {
    return [
      ...this.#admission(config, config.mcpAuthentication, roots),
      ...limits,
      ...made(config.transformations, transformations),
      ...made(config.responseHeaderModifier, responseHeaderModifier),
      ...made(config.requestHeaderModifier, requestHeaderModifier),
      ...made(config.urlRewrite, urlRewrite),
      ...made(config.requestRedirect, requestRedirect),
      ...made(config.directResponse, directResponse),
    ]
  }

  /** Behind the choice of a backend; its own word on credentials is stronger than the route's. */
  ofBackend(config: BackendPolicies, route: RoutePolicies): Policy[] {
    return [
      ...made(config.authorization, (one) => authorization(one, null, this.#identity.log)),
      ...made(config.transformations, transformations),
      ...made(config.responseHeaderModifier, responseHeaderModifier),
      ...made(config.requestHeaderModifier, requestHeaderModifier),
      ...made(config.backendAuth ?? route.backendAuth, backendAuth),
    ]
  }

  /** On the way to one LLM provider. */
  ofProvider({ auth, requestHeaders, responseHeaders }: ProviderPolicies): Policy[] {
    return [
      ...made(responseHeaders, responseHeaderModifier),
      ...made(requestHeaders, requestHeaderModifier),
      ...made(auth, backendAuth),
    ]
  }

  /** `cors` is first, so that a browser may read every refusal behind it. */
  #admission(
    config: GatewayPolicies,
    mcp: McpAuthenticationConfig | null,
    roots: RootForms = OWN_ROOTS,
  ): Policy[] {
    const identity = this.#identity
    return [
      ...made(config.cors, cors),
      ...made(mcp, (one) => mcpAuthentication(one, identity, roots)),
      ...made(config.jwtAuth, (one) => jwtAuth(one, identity)),
      ...made(config.basicAuth, (one) => basicAuth(one, identity.passwords)),
      ...made(config.apiKey, apiKey),
      ...made(config.authorization, (one) => authorization(one, mcp, identity.log)),
    ]
  }
}

function made<Config>(config: Config | null, make: (config: Config) => Policy): Policy[] {
  return config === null ? [] : [make(config)]
}
