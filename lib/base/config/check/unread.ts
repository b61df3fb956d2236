// Expressions that read who a client is where no policy ever finds out: they never hold, which nobody can have meant.

import type { Expression } from '../../cel/compile.ts'
import type { AuthorizationConfig } from '../auth-types.ts'
import type { Path } from '../error.ts'
import type {
  BackendPolicies,
  GatewayPolicies,
  RoutePolicies,
  TransformationsConfig,
} from '../types.ts'
import type { Context } from './context.ts'

/** Each name that expressions read, and the policies that fill it. */
const FILLED_BY = {
  jwt: ['jwtAuth', 'mcpAuthentication'],
  apiKey: ['apiKey'],
  basicAuth: ['basicAuth'],
} as const

type Reader = Partial<GatewayPolicies & RoutePolicies & BackendPolicies>

/** `around` are the policies that run before those at `path`, and those themselves. */
export function warnOfUnread(
  context: Context,
  path: Path,
  policies: Reader,
  around: readonly Reader[],
): void {
  for (const [name, by] of Object.entries(FILLED_BY)) {
    if (around.some((one) => by.some((kind) => one[kind] != null))) continue
    for (const { expression, at } of expressionsOf(policies))
      if (reads(expression, name))
        context.warn([...path, ...at], `reads ${name}, which is never there without ${either(by)}`)
  }
}

interface Placed {
  readonly expression: Expression
  readonly at: Path
}

function expressionsOf({ authorization, mcpAuthorization, transformations }: Reader): Placed[] {
  return [
    ...rulesOf('authorization', authorization),
    ...rulesOf('mcpAuthorization', mcpAuthorization),
    ...computedOf(transformations),
  ]
}

function rulesOf(name: string, config: AuthorizationConfig | null | undefined): Placed[] {
  return (config?.rules ?? []).map(({ expression }, at) => ({
    expression,
    at: [name, 'rules', at],
  }))
}

function computedOf(config: TransformationsConfig | null | undefined): Placed[] {
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
function reads({ source }: Expression, name: string): boolean {
  return new RegExp(`(?<![\\w.])${name}\\s*[.\\[]`).test(source.replace(TEXTS, '""'))
}

function either(names: readonly string[]): string {
  return names.join(' or ')
}
