// Checks `policies` of gateways, routes and backends; policies that are not set become null.

import type { ConfigPath } from '../config-error.ts'
import type { AiPolicyConfig } from '../backend-types.ts'
import type {
  BackendPoliciesShape,
  GatewayPoliciesShape,
  PoliciesShape,
} from '../shape/policy-shapes.ts'
import type {
  BackendPolicies,
  GatewayPolicies,
  RouteMatch,
  RoutePolicies,
} from '../config-types.ts'
import { checkApiKey, checkBasicAuth, checkJwtAuth, checkMcpAuthentication } from './check-auth.ts'
import type { CheckContext } from './check-context.ts'
import { buildBackendAuth, checkBackendTls } from './check-backend-policies.ts'

export function checkPolicies(
  context: CheckContext,
  path: ConfigPath,
  shape: PoliciesShape,
): RoutePolicies {
  const at = (name: string): ConfigPath => [...path, name]
  const { urlRewrite, requestRedirect, timeout, backendTLS, backendAuth } = shape
  checkExclusivePolicies(context, path, shape)
  return {
    ...checkGatewayPolicies(context, path, shape),
    requestHeaderModifier: shape.requestHeaderModifier ?? null,
    responseHeaderModifier: shape.responseHeaderModifier ?? null,
    urlRewrite: mapOrNull(urlRewrite, ({ authority = null, path: pathRewrite = null }) => ({
      authority,
      path: pathRewrite,
    })),
    requestRedirect: mapOrNull(requestRedirect, (redirect) => ({
      scheme: redirect.scheme ?? null,
      authority: redirect.authority ?? null,
      path: redirect.path ?? null,
      status: redirect.status,
    })),
    directResponse: mapOrNull(shape.directResponse, ({ status, body, headers }) => ({
      status,
      body,
      headers,
    })),
    timeout: mapOrNull(timeout, ({ requestTimeout = null, backendRequestTimeout = null }) => ({
      requestTimeout,
      backendRequestTimeout,
    })),
    retry: mapOrNull(shape.retry, ({ attempts, backoff, codes }) => ({ attempts, backoff, codes })),
    buffer: mapOrNull(shape.buffer, ({ request: { maxBytes } }) => ({ request: { maxBytes } })),
    backendTLS: mapOrNull(backendTLS, (tls) => checkBackendTls(context, at('backendTLS'), tls)),
    backendAuth: mapOrNull(backendAuth, buildBackendAuth),
    mcpAuthentication: mapOrNull(shape.mcpAuthentication, (one) =>
      checkMcpAuthentication(context, at('mcpAuthentication'), one),
    ),
    mcpAuthorization: shape.mcpAuthorization ?? null,
    remoteRateLimit: shape.remoteRateLimit ?? shape.rateLimit?.global ?? null,
    ai: mapOrNull(shape.ai, buildAiPolicy),
    csrf: shape.csrf ?? null,
    delay: shape.delay ?? null,
    requestMirror: shape.requestMirror ?? null,
  }
}

/** Reports policies that exclude each other. */
function checkExclusivePolicies(
  context: CheckContext,
  path: ConfigPath,
  shape: PoliciesShape,
): void {
  if (shape.urlRewrite !== undefined && shape.requestRedirect !== undefined)
    context.problem(
      [...path, 'urlRewrite'],
      'got urlRewrite and requestRedirect, expected one of them: a redirect reaches no backend',
      'key',
    )
  if (shape.remoteRateLimit !== undefined && shape.rateLimit?.global !== undefined)
    context.problem(
      [...path, 'remoteRateLimit'],
      'got remoteRateLimit and rateLimit.global, expected one of them: both set the same policy',
      'key',
    )
  if (shape.mcpAuthentication !== undefined && shape.jwtAuth !== undefined)
    context.problem(
      [...path, 'jwtAuth'],
      'got jwtAuth and mcpAuthentication, expected one of them: both read the token',
      'key',
    )
}

/** Checks the policies that listeners, routes and the web UI have in common. */
export function checkGatewayPolicies(
  context: CheckContext,
  path: ConfigPath,
  shape: GatewayPoliciesShape,
): GatewayPolicies {
  const at = (name: string): ConfigPath => [...path, name]
  return {
    cors: mapOrNull(shape.cors, (cors) => ({ ...cors, maxAge: cors.maxAge ?? null })),
    jwtAuth: mapOrNull(shape.jwtAuth, (one) => checkJwtAuth(context, at('jwtAuth'), one)),
    basicAuth: mapOrNull(shape.basicAuth, (one) => checkBasicAuth(context, at('basicAuth'), one)),
    apiKey: mapOrNull(shape.apiKey, (one) => checkApiKey(context, at('apiKey'), one)),
    authorization: shape.authorization ?? null,
    transformations: mapOrNull(shape.transformations, buildTransformations),
  }
}

type TransformationsShape = NonNullable<GatewayPoliciesShape['transformations']>

export function buildTransformations({ request, response }: TransformationsShape) {
  const plain = ({ add, set, remove }: NonNullable<typeof request>) => ({ add, set, remove })
  return { request: mapOrNull(request, plain), response: mapOrNull(response, plain) }
}

export function checkBackendPolicies(
  context: CheckContext,
  path: ConfigPath,
  shape: BackendPoliciesShape,
): BackendPolicies {
  const { backendTLS, backendAuth, ai, transformations } = shape
  return {
    requestHeaderModifier: shape.requestHeaderModifier ?? null,
    responseHeaderModifier: shape.responseHeaderModifier ?? null,
    transformations: mapOrNull(transformations, buildTransformations),
    backendTLS: mapOrNull(backendTLS, (tls) =>
      checkBackendTls(context, [...path, 'backendTLS'], tls),
    ),
    backendAuth: mapOrNull(backendAuth, buildBackendAuth),
    authorization: shape.authorization ?? null,
    mcpAuthorization: shape.mcpAuthorization ?? null,
    ai: mapOrNull(ai, buildAiPolicy),
    http: mapOrNull(shape.http, ({ version = null, requestTimeout = null }) => ({
      version,
      requestTimeout,
    })),
  }
}

type AiPolicyShape = NonNullable<PoliciesShape['ai']>

function buildAiPolicy(shape: AiPolicyShape): AiPolicyConfig {
  const { modelAliases, routes, defaults, overrides, usage } = shape
  return { modelAliases, routes, defaults, overrides, usage }
}

export function mapOrNull<Shape, Result>(
  shape: Shape | undefined,
  map: (shape: Shape) => Result,
): Result | null {
  return shape === undefined ? null : map(shape)
}

/** A prefix rewrite needs matches that are all path prefixes. */
export function checkPrefixes(
  context: CheckContext,
  path: ConfigPath,
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
