// How policies are used together: identities that no policy sets, duplicate authentication, and whether clients must be known.

import type { Expression } from '../../expressions/compile.ts'
import type { ConfigPath } from '../config-error.ts'
import type {
  BackendPolicies,
  GatewayPolicies,
  ListenerConfig,
  RoutePolicies,
  TransformationsConfig,
} from '../config-types.ts'
import type { ApiKeyConfig, AuthorizationConfig, CredentialLocation } from '../policy-types.ts'
import type { CheckContext } from './check-context.ts'

/** Identity variables of expressions, and the policies that set them. */
const SET_BY = {
  jwt: ['jwtAuth', 'mcpAuthentication'],
  apiKey: ['apiKey'],
  basicAuth: ['basicAuth'],
} as const

type AnyLevelPolicies = Partial<GatewayPolicies & RoutePolicies & BackendPolicies>

/** `active` are the policies that run before those at `path`, and those at `path`. */
export function warnAboutUnsetIdentity(
  context: CheckContext,
  path: ConfigPath,
  policies: AnyLevelPolicies,
  active: readonly AnyLevelPolicies[],
): void {
  for (const [name, by] of Object.entries(SET_BY)) {
    if (active.some((one) => by.some((kind) => one[kind] != null))) continue
    for (const { expression, at } of collectExpressions(policies))
      if (readsName(expression, name))
        context.warn(
          [...path, ...at],
          `reads ${name}, which is never set without ${by.join(' or ')}`,
        )
  }
}

interface PlacedExpression {
  readonly expression: Expression
  readonly at: ConfigPath
}

function collectExpressions({
  authorization,
  mcpAuthorization,
  transformations,
}: AnyLevelPolicies): PlacedExpression[] {
  return [
    ...ruleExpressionsOf('authorization', authorization),
    ...ruleExpressionsOf('mcpAuthorization', mcpAuthorization),
    ...headerExpressionsOf(transformations),
  ]
}

function ruleExpressionsOf(
  name: string,
  config: AuthorizationConfig | null | undefined,
): PlacedExpression[] {
  return (config?.rules ?? []).map(({ expression }, at) => ({
    expression,
    at: [name, 'rules', at],
  }))
}

function headerExpressionsOf(config: TransformationsConfig | null | undefined): PlacedExpression[] {
  return (['request', 'response'] as const).flatMap((direction) =>
    (['add', 'set'] as const).flatMap((operation) =>
      (config?.[direction]?.[operation] ?? []).map(({ name, value }) => ({
        expression: value,
        at: ['transformations', direction, operation, name],
      })),
    ),
  )
}

const STRING_LITERALS = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g

/** Finds `jwt.sub` or `jwt["sub"]`, but not in string literals and not as a member of another value. */
function readsName({ source }: Expression, name: string): boolean {
  return new RegExp(`(?<![\\w.])${name}\\s*[.\\[]`).test(source.replace(STRING_LITERALS, '""'))
}

/** Policies of a route, and the listener policy that reads the same credential. */
const LISTENER_POLICY = {
  jwtAuth: 'jwtAuth',
  mcpAuthentication: 'jwtAuth',
  apiKey: 'apiKey',
  basicAuth: 'basicAuth',
} as const

/** A listener removes a verified credential from the request, so the route would not find it. */
export function checkPolicyLevels(
  context: CheckContext,
  path: ConfigPath,
  policies: Pick<RoutePolicies, keyof typeof LISTENER_POLICY>,
  listener: Pick<ListenerConfig, 'key' | 'policies'>,
): void {
  for (const name of ['jwtAuth', 'mcpAuthentication', 'apiKey', 'basicAuth'] as const) {
    const inner = policies[name]
    const outer = listener.policies[LISTENER_POLICY[name]]
    if (inner === null || outer === null) continue
    if (!isSameLocation(mainLocationOf(inner), mainLocationOf(outer))) continue
    context.problem(
      [...path, name],
      `got ${name} in addition to ${LISTENER_POLICY[name]} of ${listener.key}, expected one of them: both read the same credential`,
      'key',
    )
  }
}

/** A listener removes only keys that it knows, so further locations of a key do not conflict. */
function mainLocationOf(
  policy: { readonly location: CredentialLocation } | Pick<ApiKeyConfig, 'locations'>,
): CredentialLocation {
  return 'locations' in policy ? policy.locations[0]! : policy.location
}

function isSameLocation(a: CredentialLocation, b: CredentialLocation): boolean {
  if (a.kind === 'expression')
    return b.kind === 'expression' && a.expression.source === b.expression.source
  if (b.kind === 'expression' || a.kind !== b.kind || a.name !== b.name) return false
  const prefixOf = (one: typeof a): string => (one.kind === 'header' ? one.prefix : '')
  return prefixOf(a).toLowerCase() === prefixOf(b).toLowerCase()
}

type AuthPolicies = Pick<GatewayPolicies, 'jwtAuth' | 'basicAuth' | 'apiKey' | 'authorization'>

/** An optional credential does not keep clients out, nor do rules that only deny. */
export function requiresKnownClient(policies: AuthPolicies): boolean {
  const { authorization } = policies
  const hasAllowRule = authorization?.rules.some(({ mode }) => mode !== 'deny') ?? false
  return hasAllowRule || requiresCredential(policies)
}

/** Whether a credential is required that a web page of another origin does not have (DNS rebinding). */
export function requiresCredential({
  jwtAuth,
  basicAuth,
  apiKey,
}: Omit<AuthPolicies, 'authorization'>): boolean {
  return [jwtAuth, basicAuth, apiKey].some((one) => one?.mode === 'strict')
}
