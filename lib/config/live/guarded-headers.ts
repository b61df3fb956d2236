// Collects the request headers that policies set, change, remove or read credentials from. They are forbidden as trailers,
// and as names with underscores: backends that merge or do not distinguish these would get them without the policies.

import type { CredentialLocation } from '../policy-types.ts'
import type {
  BackendAuthConfig,
  BackendConfig,
  BackendPolicies,
  Config,
  GatewayPolicies,
  RoutePolicies,
} from '../config-types.ts'
import type { TransformationConfig } from '../../expressions/computed-headers.ts'

type AnyPolicies = Partial<GatewayPolicies & RoutePolicies & BackendPolicies>

/** The guarded header names, in lower case. */
export function collectGuardedNames({ gateways, ui }: Config): ReadonlySet<string> {
  const names = new Set<string>()
  if (ui !== null) addNames(names, ui.policies)
  for (const { listeners } of gateways)
    for (const { policies, routes } of listeners) {
      addNames(names, policies)
      for (const route of routes) {
        addNames(names, route.policies)
        for (const backend of route.backends) {
          addNames(names, backend.policies)
          for (const policies of providerPoliciesOf(backend)) addNames(names, policies)
        }
      }
    }
  return names
}

/** The policies of single LLM providers and models. */
function providerPoliciesOf(backend: BackendConfig): AnyPolicies[] {
  if (backend.kind === 'ai')
    return backend.ai.groups.flat().map(({ auth }) => ({ backendAuth: auth }))
  if (backend.kind !== 'llm') return []
  return backend.llm.models.map(({ entry, requestHeaders }) => ({
    backendAuth: entry.auth,
    requestHeaderModifier: requestHeaders,
  }))
}

function addNames(names: Set<string>, policies: AnyPolicies): void {
  const { jwtAuth, basicAuth, apiKey, mcpAuthentication } = policies
  const { transformations, requestHeaderModifier: modifier, backendAuth } = policies
  const found = [
    ...[jwtAuth, basicAuth, mcpAuthentication].flatMap((policy) => headersReadBy(policy?.location)),
    ...(apiKey?.locations ?? []).flatMap(headersReadBy),
    ...headersComputedBy(transformations?.request),
    ...(modifier == null ? [] : [...modifier.add, ...modifier.set].map(([name]) => name)),
    ...(modifier?.remove ?? []),
    ...headersSentBy(backendAuth),
  ]
  for (const name of found) names.add(name.toLowerCase())
}

/** `headers.name` or `headers["name"]`. */
const HEADER_READ = /\bheaders\s*(?:\.\s*(\w+)|\[\s*r?["']([^"']+)["']\s*\])/g

function headersReadBy(location: CredentialLocation | undefined): string[] {
  if (location?.kind === 'header') return [location.name]
  if (location?.kind !== 'expression') return []
  return [...location.expression.source.matchAll(HEADER_READ)].map(
    ([, name, quoted]) => name ?? quoted!,
  )
}

function headersComputedBy(transformation: TransformationConfig | null | undefined): string[] {
  if (transformation == null) return []
  const { add, set, remove } = transformation
  return [...[...add, ...set].map(({ name }) => name), ...remove]
}

function headersSentBy(auth: BackendAuthConfig | null | undefined): string[] {
  return auth?.kind === 'header' ? [auth.name] : []
}
