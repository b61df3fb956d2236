// Shapes of `policies` of gateways, routes and backends.

import { z } from 'zod'
import type { AuthorityRewrite, PathRewrite } from '../config-types.ts'
import {
  API_KEY,
  AUTHORIZATION,
  BASIC_AUTH,
  JWT_AUTH,
  MCP_AUTHENTICATION,
  MCP_AUTHORIZATION,
} from './auth-shapes.ts'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './header-shapes.ts'
import { LOCAL_RATE_LIMIT, RATE_LIMIT, REMOTE_RATE_LIMIT } from './limit-shapes.ts'
import {
  BACKEND_AUTH,
  BACKEND_HTTP,
  BACKEND_TLS,
  BUFFER,
  CORS,
  CSRF,
  DELAY,
  DIRECT_RESPONSE,
  REQUEST_MIRROR,
  RETRY,
  TIMEOUT,
  TRANSFORMATIONS,
} from './traffic-shapes.ts'
import {
  exactlyOneOf,
  hostWithOptionalPort,
  hostWithoutPort,
  oneFormOf,
  portNumber,
  replacementPath,
  targetPath,
  unsupportedFields,
} from './value-shapes.ts'
import { AI_POLICY } from './ai-shapes.ts'

const authorityRewrite = exactlyOneOf({
  full: hostWithOptionalPort,
  host: hostWithoutPort,
  port: portNumber,
}).transform(({ full, host, port }): AuthorityRewrite => {
  if (full !== undefined) return { kind: 'full', value: full }
  return host === undefined ? { kind: 'port', port: port ?? 0 } : { kind: 'host', host }
})

const pathRewrite = exactlyOneOf({ full: targetPath, prefix: replacementPath }).transform(
  ({ full, prefix = '' }): PathRewrite =>
    full === undefined
      ? { kind: 'prefix', value: prefix.replace(/\/+$/, '') }
      : { kind: 'full', value: full },
)

const URL_REWRITE = z
  .strictObject({
    authority: oneFormOf(
      [z.enum(['auto', 'none']), authorityRewrite],
      "expected 'auto', 'none' or an object with one of 'full', 'host', 'port'",
    )
      .optional()
      .describe(
        'Host for the backend: `auto` (its own), `none` (that of the client), `{full}`, `{host}` or `{port}`.',
      ),
    path: pathRewrite
      .optional()
      .describe('New path: `{full}` replaces the path, `{prefix}` replaces the matched prefix.'),
  })
  .describe('Changes path and Host of the request to the backend.')

const redirectStatus = z.literal([301, 302, 303, 307, 308])

const REQUEST_REDIRECT = z
  .strictObject({
    scheme: z.enum(['http', 'https']).optional().describe('New scheme.'),
    authority: authorityRewrite
      .optional()
      .describe('New authority, as `{full}`, `{host}` or `{port}`.'),
    path: pathRewrite.optional().describe('New path, as `{full}` or `{prefix}`.'),
    status: redirectStatus.default(302).describe('Status of the redirect.'),
  })
  .describe('Redirects the client to another URL.')
  .refine(
    ({ scheme, authority, path }) => scheme ?? authority ?? path,
    'got nothing to change, expected scheme, authority or path: the redirect would be to the same URL',
  )

/** Policies that a gateway can run before a route is selected. */
export const GATEWAY_POLICIES = {
  cors: CORS.optional(),
  jwtAuth: JWT_AUTH.optional(),
  basicAuth: BASIC_AUTH.optional(),
  apiKey: API_KEY.optional(),
  authorization: AUTHORIZATION.optional(),
  transformations: TRANSFORMATIONS.optional(),
  ...unsupportedFields('oidc', 'extAuthz', 'extProc'),
}

export type GatewayPoliciesShape = z.output<z.ZodObject<typeof GATEWAY_POLICIES>>

export const POLICIES = z
  .strictObject({
    requestHeaderModifier: REQUEST_HEADERS.optional(),
    responseHeaderModifier: RESPONSE_HEADERS.optional(),
    urlRewrite: URL_REWRITE.optional(),
    requestRedirect: REQUEST_REDIRECT.optional(),
    directResponse: DIRECT_RESPONSE.optional(),
    ...GATEWAY_POLICIES,
    timeout: TIMEOUT.optional(),
    retry: RETRY.optional(),
    buffer: BUFFER.optional(),
    backendTLS: BACKEND_TLS.optional(),
    backendAuth: BACKEND_AUTH.optional(),
    mcpAuthentication: MCP_AUTHENTICATION.optional(),
    mcpAuthorization: MCP_AUTHORIZATION.optional(),
    rateLimit: RATE_LIMIT.optional(),
    localRateLimit: LOCAL_RATE_LIMIT.optional(),
    remoteRateLimit: REMOTE_RATE_LIMIT.optional(),
    ai: AI_POLICY.optional(),
    csrf: CSRF.optional(),
    delay: DELAY.optional(),
    requestMirror: REQUEST_MIRROR.optional(),
    ...unsupportedFields('a2a', 'backendTunnel', 'mcpGuardrails'),
  })
  .meta({ id: 'RoutePolicies', description: 'Policies for requests and responses of a route.' })

export type PoliciesShape = z.output<typeof POLICIES>

/** Policies that run after a backend is selected. */
export const BACKEND_POLICIES = z
  .strictObject({
    requestHeaderModifier: REQUEST_HEADERS.optional(),
    responseHeaderModifier: RESPONSE_HEADERS.optional(),
    transformations: TRANSFORMATIONS.optional(),
    backendTLS: BACKEND_TLS.optional(),
    backendAuth: BACKEND_AUTH.optional(),
    authorization: AUTHORIZATION.optional(),
    mcpAuthorization: MCP_AUTHORIZATION.optional(),
    ai: AI_POLICY.optional(),
    http: BACKEND_HTTP.optional(),
    ...unsupportedFields(
      'a2a',
      'backendTunnel',
      'extAuthz',
      'health',
      'inferenceRouting',
      'mcpGuardrails',
      'requestRedirect',
      'sessionAffinity',
      'tcp',
    ),
  })
  .meta({ id: 'BackendPolicies', description: 'Policies for requests to one backend.' })

export type BackendPoliciesShape = z.output<typeof BACKEND_POLICIES>
