// Shapes of the configuration document and of policy resources; unknown fields are refused.

import { z } from 'zod'
import type { NamedMatch, PathMatch, RouteMatch, ValueMatch } from '../config-types.ts'
import { AUTHORIZATION, BASIC_AUTH, UI_API_KEY, UI_JWT_AUTH } from './auth-shapes.ts'
import { LOCAL_LIMITS } from './limit-shapes.ts'
import { LLM } from './llm-shapes.ts'
import { MCP, MCP_BACKEND } from './mcp-shapes.ts'
import { BACKEND_POLICIES, GATEWAY_POLICIES, POLICIES } from './policy-shapes.ts'
import { FRONTEND, PROCESS } from './process-shapes.ts'
import type { FrontendShape, ProcessShape } from './process-shapes.ts'
import { CORS, CSRF } from './traffic-shapes.ts'
import {
  endpoint,
  exactlyOneOf,
  gatewayNames,
  hostname,
  httpMethod,
  ipAddress,
  isHeaderName,
  keySegment,
  listenPort,
  nonEmptyText,
  refuseValue,
  targetPath,
  unsupportedFields,
  wholeMatchRegex,
} from './value-shapes.ts'
import { AI_BACKEND } from './ai-shapes.ts'

const tlsVersion = z.enum(['TLS_V1_2', 'TLS_V1_3'])

const TLS = z
  .strictObject({
    cert: nonEmptyText.describe(
      'PEM file with the certificate; a relative path starts from the folder of the configuration.',
    ),
    key: nonEmptyText.describe('PEM file with the private key.'),
    minTLSVersion: tlsVersion
      .optional()
      .describe('Lowest accepted TLS version.')
      .meta({ preset: 'TLS_V1_2' }),
    maxTLSVersion: tlsVersion
      .optional()
      .describe('Highest accepted TLS version.')
      .meta({ preset: 'TLS_V1_3' }),
    ...unsupportedFields('mode', 'root', 'cipherSuites', 'keyExchangeGroups', 'spiffe'),
  })
  .meta({ id: 'ListenerTls', description: 'Certificate and TLS versions of the listener.' })

const protocol = z
  .enum(['HTTP', 'HTTPS'])
  .describe('Protocol of the listener; the default is `HTTPS` with `tls` and `HTTP` without.')

const LISTENER = z.strictObject({
  name: keySegment.optional().describe('Name of the listener; the default is `listener<index>`.'),
  hostname: hostname
    .optional()
    .describe(
      'Host that the listener serves: `a.example.com` or `*.example.com`; the default is any.',
    ),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  ...GATEWAY_POLICIES,
})

const GATEWAY = z.strictObject({
  port: listenPort.describe('Port to listen on; 0 picks a free port.'),
  address: ipAddress.optional().describe('IP address to listen on.').meta({ preset: '::' }),
  namespace: keySegment
    .optional()
    .describe('Namespace of the gateway; a GatewayPolicy attaches within its own namespace.')
    .meta({ preset: 'default' }),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  listeners: z
    .array(LISTENER)
    .min(1)
    .optional()
    .describe('Several listeners on the port, selected by hostname.'),
  ...GATEWAY_POLICIES,
})

export type TlsShape = z.output<typeof TLS>
export type ListenerShape = z.output<typeof LISTENER>
export type GatewayShape = z.output<typeof GATEWAY>

/** An entry of `backends` has exactly one of these kinds. */
const BACKEND_KINDS = {
  host: endpoint
    .optional()
    .describe('Address of an HTTP backend: `host:port`, `[ipv6]:port` or `unix:/path`.'),
  mcp: MCP_BACKEND.optional(),
  ai: AI_BACKEND.optional(),
  ...unsupportedFields('service', 'dynamic', 'internal', 'aws', 'routeGroup', 'invalid'),
}

type BackendKind = 'host' | 'mcp' | 'ai' | 'backend'

/** Refuses an entry that does not have exactly one backend kind. */
function requireOneKind(names: readonly BackendKind[]) {
  const quoted = names.map((name) => `'${name}'`).join(', ')
  return (
    entry: Partial<Record<BackendKind, unknown>>,
    context: Parameters<typeof refuseValue>[0],
  ): void => {
    const found = names.filter((name) => entry[name] !== undefined)
    if (found.length === 1) return
    const got = found.length === 0 ? 'none' : found.join(' and ')
    const many = found.length > 1 ? ', two backend kinds in one entry' : ''
    refuseValue(context, `got ${got}${many}, expected exactly one of ${quoted}`)
  }
}

const oneOfSchema = (names: readonly string[]) => ({
  oneOf: names.map((name) => ({ required: [name] })),
})

const ROUTE_KINDS: readonly BackendKind[] = ['host', 'mcp', 'ai', 'backend']
const NAMED_KINDS: readonly BackendKind[] = ['host', 'mcp', 'ai']

/** A backend of a route. */
const BACKEND = z
  .strictObject({
    ...BACKEND_KINDS,
    backend: nonEmptyText.optional().describe('Name of a backend in the top-level `backends`.'),
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe('Share of requests, relative to the other backends; 0 gets none.')
      .meta({ preset: 1 }),
    policies: BACKEND_POLICIES.optional(),
  })
  .meta(oneOfSchema(ROUTE_KINDS))
  .superRefine(requireOneKind(ROUTE_KINDS))

export type BackendShape = z.output<typeof BACKEND>

/** A backend of the top level, which routes refer to by name. */
const NAMED_BACKEND = z
  .strictObject({
    name: keySegment.describe('Name that routes refer to.'),
    ...BACKEND_KINDS,
    policies: BACKEND_POLICIES.optional(),
  })
  .meta(oneOfSchema(NAMED_KINDS))
  .superRefine(requireOneKind(NAMED_KINDS))

type NamedBackendShape = z.output<typeof NAMED_BACKEND>

const PSEUDO_HEADERS = [':authority', ':method', ':path', ':scheme']

const ANY_PATH: PathMatch = { kind: 'prefix', value: '/' }

/** The match of a route without `matches`. */
export const ANY_REQUEST: RouteMatch = { path: ANY_PATH, method: '', headers: [], query: [] }

const pathMatch = exactlyOneOf({
  exact: targetPath,
  pathPrefix: targetPath,
  regex: wholeMatchRegex,
}).transform(({ exact, pathPrefix, regex }): PathMatch => {
  if (exact !== undefined) return { kind: 'exact', value: exact }
  return regex ?? { kind: 'prefix', value: pathPrefix ?? '/' }
})

const valueMatch = exactlyOneOf({ exact: z.string(), regex: wholeMatchRegex }).transform(
  ({ exact, regex }): ValueMatch => regex ?? { kind: 'exact', value: exact ?? '' },
)

const headerToMatch = z.string().transform((text, context) => {
  const name = text.toLowerCase()
  return isHeaderName(name) || PSEUDO_HEADERS.includes(name)
    ? name
    : refuseValue(
        context,
        `got '${text}', expected a valid header name or one of ${PSEUDO_HEADERS.join(', ')}`,
      )
})

const match = z
  .strictObject({
    path: pathMatch
      .optional()
      .describe('Path to match, as `{exact}`, `{pathPrefix}` or `{regex}`.'),
    method: httpMethod.optional().describe('HTTP method to match, such as `GET`.'),
    headers: z
      .array(z.strictObject({ name: headerToMatch, value: valueMatch }))
      .optional()
      .describe('Headers to match, each with `name` and a `value` of `{exact}` or `{regex}`.'),
    query: z
      .array(z.strictObject({ name: z.string().min(1), value: valueMatch }))
      .optional()
      .describe('Query parameters to match, in the same form as headers.'),
  })
  .transform((fields): RouteMatch => {
    const headers: NamedMatch[] = fields.headers ?? []
    const query: NamedMatch[] = fields.query ?? []
    return { path: fields.path ?? ANY_PATH, method: fields.method ?? '', headers, query }
  })

const ROUTE = z.strictObject({
  name: keySegment
    .optional()
    .describe('Name of the route, unique on a listener; the default is `route<index>`.'),
  namespace: keySegment
    .optional()
    .describe('Namespace of the route; a GatewayPolicy attaches within its own namespace.')
    .meta({ preset: 'default' }),
  gateways: gatewayNames
    .optional()
    .describe(
      'Gateways that serve the route: `gateway` or `gateway/listener`; the default is `default`.',
    ),
  hostnames: z
    .array(hostname)
    .min(1)
    .optional()
    .describe(
      'Hosts that the route serves: `a.example.com` or `*.example.com`; the default is any.',
    ),
  matches: z
    .array(match)
    .min(1)
    .optional()
    .describe('Matches of the route, one of which must match; the default is every path.'),
  policies: POLICIES.optional(),
  backends: z
    .array(BACKEND)
    .min(1)
    .optional()
    .describe('Backends of the route, selected by weight.'),
  ...unsupportedFields('ruleName'),
})

export type RouteShape = z.output<typeof ROUTE>

export const UI = z
  .strictObject({
    gateways: gatewayNames
      .optional()
      .describe('Gateways that serve the web UI; the default is `default`.'),
    policies: z
      .strictObject({
        cors: CORS.optional(),
        jwtAuth: UI_JWT_AUTH.optional(),
        authorization: AUTHORIZATION.optional(),
        basicAuth: BASIC_AUTH.optional(),
        apiKey: UI_API_KEY.optional(),
        csrf: CSRF.optional(),
        ...unsupportedFields('oidc', 'extAuthz'),
      })
      .optional()
      .describe('Policies that control access to the web UI.'),
  })
  .describe(
    'Serves the web UI on gateways in addition to the admin address; it is read-only there.',
  )

export const CONFIG_DOCUMENT = z.strictObject({
  config: PROCESS.optional(),
  frontendPolicies: FRONTEND.optional(),
  gateways: z
    .record(z.string(), GATEWAY)
    .optional()
    .describe('Ports and their listeners, by gateway name.'),
  routes: z.array(ROUTE).optional().describe('Routes from requests to backends.'),
  backends: z.array(NAMED_BACKEND).optional().describe('Backends that routes refer to by name.'),
  mcp: MCP.optional(),
  llm: LLM.optional(),
  ui: UI.optional(),
  ...unsupportedFields('binds', 'policies', 'routeGroups', 'services', 'tcpRoutes', 'workloads'),
})

/** The parts of the document; a part with an invalid shape is undefined, but keeps its index. */
export interface ConfigParts {
  readonly config: ProcessShape | undefined
  readonly frontendPolicies: FrontendShape | undefined
  readonly gateways: ReadonlyMap<string, GatewayShape | undefined>
  readonly routes: readonly (RouteShape | undefined)[]
  readonly backends: readonly (NamedBackendShape | undefined)[]
  /** Names as written, including those of backends with problems. */
  readonly backendNames: readonly unknown[]
  readonly mcp: z.output<typeof MCP> | undefined
  readonly llm: z.output<typeof LLM> | undefined
  readonly ui: z.output<typeof UI> | undefined
}

/** Parses the parts one by one, so that one invalid part does not hide problems of others. */
export function splitConfigParts(data: unknown): ConfigParts {
  const { config, frontendPolicies, gateways, routes, backends, mcp, llm, ui } = objectPartOf(data)
  const namedGateways = Object.entries(objectPartOf(gateways))
  return {
    config: PROCESS.safeParse(config).data,
    frontendPolicies: FRONTEND.safeParse(frontendPolicies).data,
    gateways: new Map(
      namedGateways.map(([name, gateway]) => [name, GATEWAY.safeParse(gateway).data]),
    ),
    routes: listPartOf(routes).map((route) => ROUTE.safeParse(route).data),
    backends: listPartOf(backends).map((backend) => NAMED_BACKEND.safeParse(backend).data),
    backendNames: listPartOf(backends).map((backend) => objectPartOf(backend)['name']),
    mcp: MCP.safeParse(mcp).data,
    llm: LLM.safeParse(llm).data,
    ui: UI.safeParse(ui).data,
  }
}

function objectPartOf(data: unknown): Record<string, unknown> {
  return typeof data === 'object' && data !== null ? { ...data } : {}
}

function listPartOf(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : []
}

const targetRef = z.strictObject({
  group: z
    .literal('gateway.networking.k8s.io')
    .optional()
    .describe('API group of the target, which is optional.'),
  kind: z.enum(['HTTPRoute', 'Gateway']).describe('Kind of the target: a route or a gateway.'),
  name: nonEmptyText.describe('Name of the route or gateway.'),
})

/** A document of kind GatewayPolicy (spec.md §2.6). */
export const POLICY_RESOURCE = z
  .strictObject({
    apiVersion: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/v1alpha1$/, {
        error: ({ input }) => `got '${String(input)}', expected <group>/v1alpha1`,
      })
      .describe('API version, such as `gateway.dev/v1alpha1`; any group is accepted.'),
    kind: z
      .literal('GatewayPolicy')
      .describe('Kind of the document, which marks it as a policy resource.'),
    // Other tools add labels and other metadata.
    metadata: z.looseObject({
      name: nonEmptyText.describe('Name of the resource.'),
      namespace: nonEmptyText
        .default('default')
        .describe('Namespace of the resource and of its targets, if the targets set namespaces.'),
    }),
    spec: z.strictObject({
      targetRefs: z
        .array(targetRef)
        .min(1)
        .describe('Routes and gateways that the policy applies to.'),
      traffic: z.strictObject({ rateLimit: z.strictObject({ local: LOCAL_LIMITS }) }),
    }),
    // A cluster may have written a status; the status of this gateway is in the config dump.
    status: z
      .unknown()
      .optional()
      .describe('Ignored; the status of the resource is in `/config_dump`.'),
  })
  .meta({
    id: 'GatewayPolicy',
    description: 'Rate limits that are attached to routes and gateways by name.',
  })

export type ResourceShape = z.output<typeof POLICY_RESOURCE>
export type TargetRef = z.output<typeof targetRef>
