// What users write: the whole configuration document. Everything unknown is refused.

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

// What users write under `gateways`.

const version = z.enum(['TLS_V1_2', 'TLS_V1_3'])

const TLS = z
  .strictObject({
    cert: nonEmptyText.describe('PEM file, found from the folder of the configuration'),
    key: nonEmptyText.describe('PEM file'),
    minTLSVersion: version.optional().describe('Oldest version').meta({ preset: 'TLS_V1_2' }),
    maxTLSVersion: version.optional().describe('Newest version').meta({ preset: 'TLS_V1_3' }),
    ...unsupportedFields('mode', 'root', 'cipherSuites', 'keyExchangeGroups', 'spiffe'),
  })
  .meta({ id: 'ListenerTls', description: 'Certificate of the listener' })

const protocol = z
  .enum(['HTTP', 'HTTPS'])
  .describe('Default `HTTPS` when `tls` is set, else `HTTP`')

const LISTENER = z.strictObject({
  name: keySegment.optional().describe('Default `listener<index>`'),
  hostname: hostname.optional().describe('`a.example.com` or `*.example.com`; none means any'),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  ...GATEWAY_POLICIES,
})

const GATEWAY = z.strictObject({
  port: listenPort.describe('Its own; 0 lets the system choose'),
  address: ipAddress.optional().describe('IP address to bind').meta({ preset: '::' }),
  protocol: protocol.optional(),
  tls: TLS.optional(),
  listeners: z
    .array(LISTENER)
    .min(1)
    .optional()
    .describe('Several on one port, told apart by hostname'),
  ...GATEWAY_POLICIES,
})

export type TlsShape = z.output<typeof TLS>
export type ListenerShape = z.output<typeof LISTENER>
export type GatewayShape = z.output<typeof GATEWAY>

// What users write under `backends`: where answers come from, of exactly one kind each.

const KINDS = {
  host: endpoint.optional().describe('`host:port`, `[ipv6]:port` or `unix:/path`'),
  mcp: MCP_BACKEND.optional(),
  ai: AI_BACKEND.optional(),
  ...unsupportedFields('service', 'dynamic', 'internal', 'aws', 'routeGroup', 'invalid'),
}

const REFERENCE = {
  backend: nonEmptyText.optional().describe('Name of one of the top-level `backends`'),
}

type Kinds = 'host' | 'mcp' | 'ai' | 'backend'

/** How many kinds of backend an entry names. */
function checkKinds(names: readonly Kinds[]) {
  const quoted = names.map((name) => `'${name}'`).join(', ')
  return (
    entry: Partial<Record<Kinds, unknown>>,
    context: Parameters<typeof refuseValue>[0],
  ): void => {
    const found = names.filter((name) => entry[name] !== undefined)
    if (found.length === 1) return
    const got = found.length === 0 ? 'none' : found.join(' and ')
    const many = found.length > 1 ? ', two backend kinds in one entry' : ''
    refuseValue(context, `got ${got}${many}, expected exactly one of ${quoted}`)
  }
}

const requireOne = (names: readonly string[]) => ({
  oneOf: names.map((name) => ({ required: [name] })),
})

const ANY: readonly Kinds[] = ['host', 'mcp', 'ai', 'backend']
const OWN: readonly Kinds[] = ['host', 'mcp', 'ai']

/** In a route. */
const BACKEND = z
  .strictObject({
    ...KINDS,
    ...REFERENCE,
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe('Share of requests; 0 is never chosen')
      .meta({ preset: 1 }),
    policies: BACKEND_POLICIES.optional(),
  })
  .meta(requireOne(ANY))
  .superRefine(checkKinds(ANY))

export type BackendShape = z.output<typeof BACKEND>

/** At the top level, to be referred to by name. */
const NAMED_BACKEND = z
  .strictObject({
    name: keySegment.describe('What routes refer to'),
    ...KINDS,
    policies: BACKEND_POLICIES.optional(),
  })
  .meta(requireOne(OWN))
  .superRefine(checkKinds(OWN))

type NamedBackendShape = z.output<typeof NAMED_BACKEND>

// What users write under `routes`.

const PSEUDO = [':authority', ':method', ':path', ':scheme']

const ROOT: PathMatch = { kind: 'prefix', value: '/' }

/** The match of a route that names none. */
export const ANY_REQUEST: RouteMatch = { path: ROOT, method: '', headers: [], query: [] }

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
  return isHeaderName(name) || PSEUDO.includes(name)
    ? name
    : refuseValue(
        context,
        `got '${text}', expected a valid header name or one of ${PSEUDO.join(', ')}`,
      )
})

const match = z
  .strictObject({
    path: pathMatch.optional().describe('`{exact}`, `{pathPrefix}` or `{regex}`'),
    method: httpMethod.optional().describe('Method, such as `GET`'),
    headers: z
      .array(z.strictObject({ name: headerToMatch, value: valueMatch }))
      .optional()
      .describe('Headers, each with `name` and `value`: `{exact}` or `{regex}`'),
    query: z
      .array(z.strictObject({ name: z.string().min(1), value: valueMatch }))
      .optional()
      .describe('Query parameters, in the same form'),
  })
  .transform((written): RouteMatch => {
    const headers: NamedMatch[] = written.headers ?? []
    const query: NamedMatch[] = written.query ?? []
    return { path: written.path ?? ROOT, method: written.method ?? '', headers, query }
  })

const ROUTE = z.strictObject({
  name: keySegment.optional().describe('Default `route<index>`; differs on one listener'),
  gateways: gatewayNames.optional().describe('Names: `gw` or `gw/listener`; default `default`'),
  hostnames: z
    .array(hostname)
    .min(1)
    .optional()
    .describe('`a.example.com` or `*.example.com`; none means any'),
  matches: z.array(match).min(1).optional().describe('Any of them is enough; default every path'),
  policies: POLICIES.optional(),
  backends: z.array(BACKEND).min(1).optional().describe('Who answers, by weight'),
  ...unsupportedFields('namespace', 'ruleName'),
})

export type RouteShape = z.output<typeof ROUTE>

// What users write under `ui`: which gateways serve the web page, and who may see it.

export const UI = z
  .strictObject({
    gateways: gatewayNames.optional().describe('Gateways that serve it; default `default`'),
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
      .describe('Who may see it'),
  })
  .describe(
    'The web UI on gateways, beside the admin address: the page and what it reads, nothing that changes something',
  )

export const CONFIG_DOCUMENT = z.strictObject({
  config: PROCESS.optional(),
  frontendPolicies: FRONTEND.optional(),
  gateways: z.record(z.string(), GATEWAY).optional().describe('Ports and who answers on them'),
  routes: z.array(ROUTE).optional().describe('Which backend answers which request'),
  backends: z.array(NAMED_BACKEND).optional().describe('Backends that routes refer to by name'),
  mcp: MCP.optional(),
  llm: LLM.optional(),
  ui: UI.optional(),
  ...unsupportedFields('binds', 'policies', 'routeGroups', 'services', 'tcpRoutes', 'workloads'),
})

/** The file's parts that have the right shape; a part that has not is undefined, its place is kept. */
export interface ConfigParts {
  readonly config: ProcessShape | undefined
  readonly frontendPolicies: FrontendShape | undefined
  readonly gateways: ReadonlyMap<string, GatewayShape | undefined>
  readonly routes: readonly (RouteShape | undefined)[]
  readonly backends: readonly (NamedBackendShape | undefined)[]
  /** As they were written, also those of backends that were refused. */
  readonly backendNames: readonly unknown[]
  readonly mcp: z.output<typeof MCP> | undefined
  readonly llm: z.output<typeof LLM> | undefined
  readonly ui: z.output<typeof UI> | undefined
}

/** Parts are looked at one by one, so that one refused part does not hide what is wrong with others. */
export function splitConfigParts(data: unknown): ConfigParts {
  const { config, frontendPolicies, gateways, routes, backends, mcp, llm, ui } = objectPartOf(data)
  const named = Object.entries(objectPartOf(gateways))
  return {
    config: PROCESS.safeParse(config).data,
    frontendPolicies: FRONTEND.safeParse(frontendPolicies).data,
    gateways: new Map(named.map(([name, gateway]) => [name, GATEWAY.safeParse(gateway).data])),
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

// What users write as a policy resource: a document of kind GatewayPolicy, spec.md §2.6.

const targetRef = z.strictObject({
  group: z.literal('gateway.networking.k8s.io').optional().describe('May be left out'),
  kind: z.enum(['HTTPRoute', 'Gateway']).describe('A route or a gateway'),
  name: nonEmptyText.describe('Its name'),
})

export const POLICY_RESOURCE = z
  .strictObject({
    apiVersion: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/v1alpha1$/, {
        error: ({ input }) => `got '${String(input)}', expected <group>/v1alpha1`,
      })
      .describe('`gateway.dev/v1alpha1`; any group will do'),
    kind: z.literal('GatewayPolicy').describe('Tells it from a configuration'),
    // Labels and the like belong to other tools.
    metadata: z.looseObject({
      name: nonEmptyText.describe('Name of the resource'),
      namespace: nonEmptyText.default('default').describe('Namespace of it and of its targets'),
    }),
    spec: z.strictObject({
      targetRefs: z.array(targetRef).min(1).describe('What it applies to'),
      traffic: z.strictObject({ rateLimit: z.strictObject({ local: LOCAL_LIMITS }) }),
    }),
    // Written by whoever applied it elsewhere; ours is in the dump.
    status: z.unknown().optional().describe('Not read; the status is in `/config_dump`'),
  })
  .meta({ id: 'GatewayPolicy', description: 'Rate limits attached to routes and gateways by name' })

export type ResourceShape = z.output<typeof POLICY_RESOURCE>
export type TargetRef = z.output<typeof targetRef>
