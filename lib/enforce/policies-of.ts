// The policies of a route in the order in which they run. `timeout`, `retry` and `backendTLS` are not among them:
// they say how `forward` calls, and decide nothing themselves.

import type { RoutePolicies } from '../base/config/types.ts'
import type { Policy } from '../base/types.ts'
import { cors } from './cors.ts'
import { directResponse } from './direct-response.ts'
import { requestHeaderModifier, responseHeaderModifier } from './header-modifier.ts'
import { requestRedirect } from './redirect.ts'
import { urlRewrite } from './url-rewrite.ts'

/** `cors` is first, so that a browser may read every refusal behind it. */
export function policiesOf(config: RoutePolicies): Policy[] {
  const policies: Policy[] = []
  if (config.cors !== null) policies.push(cors(config.cors))
  if (config.responseHeaderModifier !== null)
    policies.push(responseHeaderModifier(config.responseHeaderModifier))
  if (config.requestHeaderModifier !== null)
    policies.push(requestHeaderModifier(config.requestHeaderModifier))
  if (config.urlRewrite !== null) policies.push(urlRewrite(config.urlRewrite))
  if (config.requestRedirect !== null) policies.push(requestRedirect(config.requestRedirect))
  if (config.directResponse !== null) policies.push(directResponse(config.directResponse))
  return policies
}
