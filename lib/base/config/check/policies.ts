// `policies` → what is not set is null, and files are read.

import type { Path } from '../error.ts'
import type { AiPolicyConfig } from '../llm-types.ts'
import type {
  BackendPoliciesShape,
  GatewayPoliciesShape,
  PoliciesShape,
} from '../shape/policies.ts'
import type { BackendPolicies, GatewayPolicies, RouteMatch, RoutePolicies } from '../types.ts'
import { apiKeyOf, basicAuthOf, jwtAuthOf, mcpAuthenticationOf } from './auth.ts'
import type { Context } from './context.ts'
import { backendAuthOf, backendTlsOf } from './backend-policies.ts'

export function checkPolicies(context: Context, path: Path, shape: PoliciesShape): RoutePolicies {
  const at = (name: string): Path => [...path, name]
  const { urlRewrite, requestRedirect, timeout, backendTLS, backendAuth } = shape
  checkPairs(context, path, shape)
  return {
    ...gatewayPoliciesOf(context, path, shape),
    requestHeaderModifier: shape.requestHeaderModifier ?? null,
    responseHeaderModifier: shape.responseHeaderModifier ?? null,
    urlRewrite: orNull(urlRewrite, ({ authority = null, path: to = null }) => ({
      authority,
      path: to,
    })),
    requestRedirect: orNull(requestRedirect, (written) => ({
      scheme: written.scheme ?? null,
      authority: written.authority ?? null,
      path: written.path ?? null,
      status: written.status,
    })),
    directResponse: orNull(shape.directResponse, ({ status, body, headers }) => ({
      status,
      body,
      headers,
    })),
    timeout: orNull(timeout, ({ requestTimeout = null, backendRequestTimeout = null }) => ({
      requestTimeout,
      backendRequestTimeout,
    })),
    retry: orNull(shape.retry, ({ attempts, backoff, codes }) => ({ attempts, backoff, codes })),
    backendTLS: orNull(backendTLS, (tls) => backendTlsOf(context, at('backendTLS'), tls)),
    backendAuth: orNull(backendAuth, backendAuthOf),
    mcpAuthentication: orNull(shape.mcpAuthentication, (one) =>
      mcpAuthenticationOf(context, at('mcpAuthentication'), one),
    ),
    mcpAuthorization: shape.mcpAuthorization ?? null,
    remoteRateLimit: shape.remoteRateLimit ?? shape.rateLimit?.global ?? null,
    ai: orNull(shape.ai, aiPolicyOf),
    csrf: shape.csrf ?? null,
    delay: shape.delay ?? null,
    requestMirror: shape.requestMirror ?? null,
  }
}

/** Policies that cannot stand beside each other. */
function checkPairs(context: Context, path: Path, shape: PoliciesShape): void {
  if (shape.urlRewrite !== undefined && shape.requestRedirect !== undefined)
    context.problem(
      [...path, 'urlRewrite'],
      'got urlRewrite and requestRedirect, expected one of them: a redirect reaches no backend',
      'key',
    )
  if (shape.remoteRateLimit !== undefined && shape.rateLimit?.global !== undefined)
    context.problem(
      [...path, 'remoteRateLimit'],
      'got remoteRateLimit and rateLimit.global, expected one of them: they are the same',
      'key',
    )
  if (shape.mcpAuthentication !== undefined && shape.jwtAuth !== undefined)
    context.problem(
      [...path, 'jwtAuth'],
      'got jwtAuth and mcpAuthentication, expected one of them: both read the token',
      'key',
    )
}

/** Also the part that a route, a listener and the page have in common. */
export function gatewayPoliciesOf(
  context: Context,
  path: Path,
  shape: GatewayPoliciesShape,
): GatewayPolicies {
  const at = (name: string): Path => [...path, name]
  return {
    cors: orNull(shape.cors, (cors) => ({ ...cors, maxAge: cors.maxAge ?? null })),
    jwtAuth: orNull(shape.jwtAuth, (one) => jwtAuthOf(context, at('jwtAuth'), one)),
    basicAuth: orNull(shape.basicAuth, (one) => basicAuthOf(context, at('basicAuth'), one)),
    apiKey: orNull(shape.apiKey, (one) => apiKeyOf(context, at('apiKey'), one)),
    authorization: shape.authorization ?? null,
    transformations: orNull(shape.transformations, transformationsOf),
  }
}

type TransformationsShape = NonNullable<GatewayPoliciesShape['transformations']>

export function transformationsOf({ request, response }: TransformationsShape) {
  const plain = ({ add, set, remove }: NonNullable<typeof request>) => ({ add, set, remove })
  return { request: orNull(request, plain), response: orNull(response, plain) }
}

/** Policies of one backend. */
export function checkBackendPolicies(
  context: Context,
  path: Path,
  shape: BackendPoliciesShape,
): BackendPolicies {
  const { backendTLS, backendAuth, ai, transformations } = shape
  return {
    requestHeaderModifier: shape.requestHeaderModifier ?? null,
    responseHeaderModifier: shape.responseHeaderModifier ?? null,
    transformations: orNull(transformations, transformationsOf),
    backendTLS: orNull(backendTLS, (tls) => backendTlsOf(context, [...path, 'backendTLS'], tls)),
    backendAuth: orNull(backendAuth, backendAuthOf),
    authorization: shape.authorization ?? null,
    mcpAuthorization: shape.mcpAuthorization ?? null,
    ai: orNull(ai, aiPolicyOf),
  }
}

type AiPolicyShape = NonNullable<PoliciesShape['ai']>

function aiPolicyOf(shape: AiPolicyShape): AiPolicyConfig {
  const { modelAliases, routes, defaults, overrides, usage } = shape
  return { modelAliases, routes, defaults, overrides, usage }
}

export function orNull<Shape, Result>(
  shape: Shape | undefined,
  make: (shape: Shape) => Result,
): Result | null {
  return shape === undefined ? null : make(shape)
}

/** Only a prefix that matched can be replaced. */
export function checkPrefixes(
  context: Context,
  path: Path,
  policies: RoutePolicies,
  matches: readonly RouteMatch[],
): void {
  if (matches.every((match) => match.path.kind === 'prefix')) return
  for (const name of ['urlRewrite', 'requestRedirect'] as const)
    if (policies[name]?.path?.kind === 'prefix')
      context.problem(
        [...path, name, 'path', 'prefix'],
        'got a prefix to replace, expected every match of the route to be a pathPrefix',
      )
}
