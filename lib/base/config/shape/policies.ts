// What users write under `policies`, by where they stand.

import { z } from 'zod'
import { AI_POLICY } from './ai.ts'
import {
  API_KEY,
  AUTHORIZATION,
  BASIC_AUTH,
  JWT_AUTH,
  MCP_AUTHENTICATION,
  MCP_AUTHORIZATION,
} from './auth.ts'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './headers.ts'
import { LOCAL_RATE_LIMIT, RATE_LIMIT, REMOTE_RATE_LIMIT } from './limits.ts'
import { unsupported } from './parts.ts'
import { REQUEST_REDIRECT, URL_REWRITE } from './rewrite.ts'
import {
  BACKEND_AUTH,
  BACKEND_TLS,
  CORS,
  CSRF,
  DELAY,
  DIRECT_RESPONSE,
  REQUEST_MIRROR,
  RETRY,
  TIMEOUT,
  TRANSFORMATIONS,
} from './traffic.ts'

/** What a gateway may decide before a route is chosen. */
export const GATEWAY_POLICIES = {
  cors: CORS.optional(),
  jwtAuth: JWT_AUTH.optional(),
  basicAuth: BASIC_AUTH.optional(),
  apiKey: API_KEY.optional(),
  authorization: AUTHORIZATION.optional(),
  transformations: TRANSFORMATIONS.optional(),
  ...unsupported('oidc', 'extAuthz', 'extProc'),
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
    ...unsupported('a2a', 'backendTunnel', 'buffer', 'mcpGuardrails'),
  })
  .meta({ id: 'RoutePolicies', description: 'What happens to requests and answers of a route' })

export type PoliciesShape = z.output<typeof POLICIES>

/** Policies of one backend, behind the choice of it. */
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
    ...unsupported(
      'a2a',
      'backendTunnel',
      'extAuthz',
      'health',
      'http',
      'inferenceRouting',
      'mcpGuardrails',
      'requestRedirect',
      'sessionAffinity',
      'tcp',
    ),
  })
  .meta({ id: 'BackendPolicies', description: 'What happens on the way to one backend' })

export type BackendPoliciesShape = z.output<typeof BACKEND_POLICIES>
