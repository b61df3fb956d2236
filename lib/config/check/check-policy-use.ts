// Expressions that read who a client is where no policy ever finds out: they never hold, which nobody can have meant.

import type { Expression } from '../../expressions/compile.ts'
import type { ConfigPath } from '../config-error.ts'
import type {
  BackendPolicies,
  GatewayPolicies,
  ListenerConfig,
  RoutePolicies,
  TransformationsConfig,
} from '../config-types.ts'
import type { AuthorizationConfig, CredentialLocation } from '../policy-types.ts'
import type { CheckContext } from './check-context.ts'

/** Each name that expressions read, and the policies that fill it. */
const FILLED_BY = {
  jwt: ['jwtAuth', 'mcpAuthentication'],
  apiKey: ['apiKey'],
  basicAuth: ['basicAuth'],
} as const

type AnyLevelPolicies = Partial<GatewayPolicies & RoutePolicies & BackendPolicies>

/** `around` are the policies that run before those at `path`, and those themselves. */
export function warnAboutUnsetIdentity(
  context: CheckContext,
  path: ConfigPath,
  policies: AnyLevelPolicies,
  around: readonly AnyLevelPolicies[],
): void {
  for (const [name, by] of Object.entries(FILLED_BY)) {
    if (around.some((one) => by.some((kind) => one[kind] != null))) continue
    for (const { expression, at } of collectExpressions(policies))
      if (readsName(expression, name))
        context.warn(
          [...path, ...at],
          `reads ${name}, which is never there without ${joinWithOr(by)}`,
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
    ...computedExpressionsOf(transformations),
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

function computedExpressionsOf(
  config: TransformationsConfig | null | undefined,
): PlacedExpression[] {
  return (['request', 'response'] as const).flatMap((direction) =>
    (['add', 'set'] as const).flatMap((way) =>
      (config?.[direction]?.[way] ?? []).map(({ name, value }) => ({
        expression: value,
        at: ['transformations', direction, way, name],
      })),
    ),
  )
}

const TEXTS = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g

/** `jwt.sub` or `jwt["sub"]`; not what stands in quotes, and no member of something else. */
function readsName({ source }: Expression, name: string): boolean {
  return new RegExp(`(?<![\\w.])${name}\\s*[.\\[]`).test(source.replace(TEXTS, '""'))
}

function joinWithOr(names: readonly string[]): string {
  return names.join(' or ')
}

// Policies of a listener and of its routes that cannot stand behind each other.

/** Each with those that would look for the same credential on the listener. */
const SAME = {
  jwtAuth: 'jwtAuth',
  mcpAuthentication: 'jwtAuth',
  apiKey: 'apiKey',
  basicAuth: 'basicAuth',
} as const

/** A listener that has verified a credential takes it off the request: the route would not find it. */
export function checkPolicyLevels(
  context: CheckContext,
  path: ConfigPath,
  policies: Pick<RoutePolicies, keyof typeof SAME>,
  listener: Pick<ListenerConfig, 'key' | 'policies'>,
): void {
  for (const name of ['jwtAuth', 'mcpAuthentication', 'apiKey', 'basicAuth'] as const) {
    const inner = policies[name]
    const outer = listener.policies[SAME[name]]
    if (inner === null || outer === null || !isSameLocation(inner.location, outer.location))
      continue
    context.problem(
      [...path, name],
      `got ${name} behind ${SAME[name]} of ${listener.key}, expected one of them: both read the same credential`,
      'key',
    )
  }
}

function isSameLocation(a: CredentialLocation, b: CredentialLocation): boolean {
  if (a.kind === 'expression')
    return b.kind === 'expression' && a.expression.source === b.expression.source
  if (b.kind === 'expression' || a.kind !== b.kind || a.name !== b.name) return false
  const prefixOf = (one: typeof a): string => (one.kind === 'header' ? one.prefix : '')
  return prefixOf(a).toLowerCase() === prefixOf(b).toLowerCase()
}
