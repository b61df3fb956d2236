// Builds the plan of a checked configuration: route tables, compiled policies and pools. A plan never changes.
// The backends of a route are nested: BackendWithPolicies runs the policies of a backend and calls one of
//   HttpBackend                                                          a host; with token limits MeteredBackend before it
//   LlmBackend → ProviderAttempts → BackendWithPolicies → ProviderBackend → HttpBackend      LLM providers
//   McpBackend → McpGroup → session → target                             MCP servers

import type { ByteBudget } from '../../core/byte-budgets.ts'
import type { PortLimits } from '../../core/bounds.ts'
import type { BackendFacts } from '../../core/facts.ts'
import { collectGuardedNames } from './guarded-headers.ts'
import { ConfigFormatter } from '../show.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  RetryConfig,
  RouteConfig,
  RoutePolicies,
  UiConfig,
} from '../config-types.ts'
import type { CostHistory } from '../../enforce/limit/learned-costs.ts'
import type { RateLimitRule } from '../../enforce/limit/limit-rule.ts'
import type { Log } from '../../core/log.ts'
import { isLoopback } from '../../core/addresses.ts'
import type { Backend, ErrorFormat, Policy } from '../../core/types.ts'
import { ListenerTable } from '../../choose/host-table.ts'
import { RouteTable, WeightedPicker } from '../../choose/route-table.ts'
import type { RouteEntry } from '../../choose/route-table.ts'
import { enforce } from '../../enforce/run-policies.ts'
import type { IdentityStore } from '../../enforce/auth/identity.ts'
import type { LimitRegistry } from '../../enforce/limit/limits.ts'
import { PolicyFactory } from '../../enforce/make-policies.ts'
import type { RateLimitService, RateLimitServices } from '../../enforce/limit/rate-limit-service.ts'
import { HttpBackend } from '../../forward/http/http-backend.ts'
import { createOrigin } from '../../forward/http/pools.ts'
import type { Origin } from '../../forward/http/pools.ts'
import type { ConnectionPool } from '../../forward/http/pool.ts'
import type { ConnectionPools } from '../../forward/http/pools.ts'
import { McpBackend } from '../../forward/mcp/mcp-backend.ts'
import type { RebindingProtection } from '../../forward/cross-site-checks.ts'
import type { McpGroup } from '../../forward/mcp/mcp-group.ts'
import type { McpGroups } from '../../forward/mcp/mcp-groups.ts'
import { BackendWithPolicies } from '../../forward/backend-attempt.ts'
import { BufferedBackend } from '../../forward/buffered-backend.ts'
import { UiBackend } from '../../admin/page-api/page-backend.ts'
import type { UiServer } from '../../admin/page-api/page-backend.ts'
import { BackendHealth } from './backend-health.ts'
import { buildUiAccess, buildUiRoute, MetadataRoutes, uiRouteKeyOf } from './plan-extra-routes.ts'
import { LimitPlanner } from './plan-limits.ts'
import { LlmPlanner } from './plan-llm.ts'
import type { LlmPlanResources } from './plan-llm.ts'

export interface PlannedRoute {
  readonly key: string
  readonly policies: readonly Policy[]
  /** The policies of the listener and of the route: all that process the response. */
  readonly allPolicies: readonly Policy[]
  /** The policies that run when the request body is known. */
  readonly tokenPolicies: readonly Policy[]
  readonly backends: WeightedPicker<PlannedBackend>
  /** The configured policies, for traces. */
  readonly describePolicies: () => object
  /** The format of errors that the gateway itself sends. */
  readonly errorFormat: ErrorFormat
  /** Milliseconds until the response head must arrive; 0 for no timeout. */
  readonly timeout: number
  readonly retry: RetryConfig | null
}

export interface PlannedBackend {
  readonly backend: Backend
  /** The backend in expressions and traces: the same object for every request. */
  readonly facts: BackendFacts
  readonly describePolicies: () => object
}

export interface PlannedListener {
  readonly key: string
  readonly gatewayNamespace: string
  readonly hostname: string
  /** Enforced before a route is chosen. */
  readonly policies: readonly Policy[]
  readonly describePolicies: () => object
  readonly routes: RouteTable<PlannedRoute>
}

export interface Plan {
  readonly config: Config
  /** 1 for the first plan, plus 1 for each reload that was applied. */
  readonly generation: number
  readonly loadedAt: Date
  /** The limits of all ports. */
  readonly limits: PortLimits
  /** The listeners of each port. */
  readonly ports: ReadonlyMap<number, ListenerTable<PlannedListener>>
  /** Keys of the origins that requests can be forwarded to. */
  readonly origins: ReadonlySet<string>
  readonly groups: ReadonlySet<McpGroup>
  /** The name of each limit: its place in the configuration. */
  readonly rules: ReadonlyMap<RateLimitRule, string>
  readonly services: ReadonlySet<RateLimitService>
  /** What is learned about the tokens that these services count. */
  readonly costHistories: ReadonlySet<CostHistory>
  readonly health: BackendHealth
  /** Keys of routes and listeners with counters. */
  readonly metricKeys: ReadonlySet<string>
  /** Keys of backends with counters. */
  readonly backends: ReadonlySet<string>
}

/** The resources that all plans of a gateway share and that remain after a reload. */
export interface SharedResources {
  readonly pools: ConnectionPools
  readonly groups: McpGroups
  readonly identity: IdentityStore
  readonly limits: LimitRegistry
  readonly services: RateLimitServices
  /** The budget for bytes of LLM requests that are held in memory. */
  readonly held: ByteBudget
  readonly log: Log
  /** The server of the web UI, created on first use. */
  readonly ui: () => UiServer
}

export function buildPlan(config: Config, shared: SharedResources, generation: number): Plan {
  const planner = new Planner(shared, config)
  const ports = new Map(
    config.gateways.map((gateway) => [gateway.port, planner.planListeners(gateway)]),
  )
  const { origins, groups, health } = planner
  const { rules, services, costHistories } = planner.limits
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const routes = listeners.flatMap((listener) => listener.routes)
  const backends = routes.flatMap((route) => route.backends)
  // The web UI on a listener is a route and a backend with the same key.
  const uiKeys = (config.ui?.listeners ?? []).map((key) => uiRouteKeyOf({ key }))
  return {
    config,
    generation,
    loadedAt: new Date(),
    limits: buildPortLimits(config),
    ports,
    origins,
    groups,
    rules,
    services,
    costHistories,
    health,
    metricKeys: new Set([...[...listeners, ...routes].map(({ key }) => key), ...uiKeys]),
    backends: new Set([...backends.map(({ key }) => key), ...uiKeys]),
  }
}

/** The values that all routes of a listener share. */
interface ListenerContext {
  readonly gateway: GatewayConfig
  readonly hostname: string
  readonly policies: readonly Policy[]
  readonly metadataRoutes: MetadataRoutes
}

class Planner {
  readonly origins = new Set<string>()
  readonly groups = new Set<McpGroup>()
  readonly health = new BackendHealth()
  readonly limits: LimitPlanner
  readonly #shared: SharedResources
  readonly #policies: PolicyFactory
  readonly #llmResources: LlmPlanResources
  readonly #formatter: ConfigFormatter
  readonly #ui: UiConfig | null

  constructor(shared: SharedResources, config: Config) {
    const { identity, limits, services, held, log } = shared
    this.#shared = shared
    this.#ui = config.ui
    this.#formatter = new ConfigFormatter(config.process.sensitiveHeaders)
    this.#policies = new PolicyFactory(identity)
    this.limits = new LimitPlanner(limits, services, log)
    this.#llmResources = {
      policies: this.#policies,
      held,
      limits: config.llm,
      log,
      health: this.health,
      pool: (key, endpoint, tls) => this.#poolFor(key, createOrigin(endpoint, tls)),
    }
  }

  planListeners(gateway: GatewayConfig): ListenerTable<PlannedListener> {
    return new ListenerTable(
      gateway.listeners.map((listener) => this.#planListener(listener, gateway)),
    )
  }

  #planListener(listener: ListenerConfig, gateway: GatewayConfig): PlannedListener {
    const { key, hostname } = listener
    const policies = this.#policies.createForListener(listener.policies)
    const metadataRoutes = new MetadataRoutes(listener.routes)
    const context = { gateway, hostname, policies, metadataRoutes }
    const entries: RouteEntry<PlannedRoute>[] = listener.routes.map((route) => ({
      ...route,
      matches: [...route.matches, ...metadataRoutes.extraMatchesFor(route)],
      value: this.#planRoute(route, context),
    }))
    if (this.#ui?.listeners.includes(key))
      entries.push(buildUiRoute(listener, this.#planUi(this.#ui, listener, context)))
    const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
    return {
      key,
      gatewayNamespace: gateway.namespace,
      hostname,
      policies,
      describePolicies: () => this.#formatter.formatFields({ ...listener.policies }),
      routes: new RouteTable(entries, scheme),
    }
  }

  #planRoute(
    route: RouteConfig,
    { gateway, hostname, policies: listenerPolicies, metadataRoutes }: ListenerContext,
  ): PlannedRoute {
    const { key, backends } = route
    const { timeout, retry } = route.policies
    const isMcp = backends.some(({ kind }) => kind === 'mcp')
    const routePolicies = isMcp ? completeMcpCors(route.policies) : route.policies
    const limits = this.limits.planRoute(route, gateway)
    const localRateLimit = route.limits.length === 0 ? null : route.limits
    const policies = this.#policies.createForRoute(
      routePolicies,
      metadataRoutes.rootFormsFor(route),
      limits.policies,
    )
    const isNamed = hostname !== '' || route.hostnames.length > 0
    const hosts = isNamed ? 'named' : isLoopback(gateway.address) ? 'loopback' : 'any'
    const llm = new LlmPlanner(this.#llmResources, route, limits.tokens, hosts)
    const planBackend = (backend: BackendConfig): Backend => {
      switch (backend.kind) {
        case 'mcp':
          return this.#planMcp(backend, route, gateway.address)
        case 'host':
          return this.#planHost(backend, route, llm)
        case 'ai':
          return llm.planProviders(backend)
        case 'llm':
          return llm.planModels(backend)
      }
    }
    const planned = backends.map((backend) => ({
      weight: backend.weight,
      value: {
        backend: this.#addPolicies(backend, route, planBackend(backend)),
        facts: backendFactsOf(backend),
        describePolicies: () => this.#formatter.formatFields({ ...backend.policies }),
      },
    }))
    return {
      key,
      policies,
      describePolicies: () => this.#formatter.formatFields({ ...route.policies, localRateLimit }),
      allPolicies: [...listenerPolicies, ...policies],
      tokenPolicies: policies.filter((policy) => policy.admit !== undefined),
      errorFormat: isMcp ? 'jsonrpc' : 'text',
      timeout: timeout?.requestTimeout ?? 0,
      retry,
      backends: new WeightedPicker(planned),
    }
  }

  /** The route of the web UI on a listener; the gateway itself is its backend. */
  #planUi(
    { policies: uiPolicies }: UiConfig,
    listener: ListenerConfig,
    context: ListenerContext,
  ): PlannedRoute {
    const policies = this.#policies.createForListener({ ...uiPolicies, transformations: null })
    const key = uiRouteKeyOf(listener)
    const value: PlannedBackend = {
      backend: new UiBackend(this.#shared.ui, buildUiAccess(uiPolicies, listener, context.gateway)),
      facts: { name: key, type: 'static', protocol: 'http' },
      describePolicies: () => ({}),
    }
    return {
      key,
      policies,
      describePolicies: () => this.#formatter.formatFields({ ...uiPolicies }),
      allPolicies: [...context.policies, ...policies],
      tokenPolicies: [],
      errorFormat: 'text',
      timeout: 0,
      retry: null,
      backends: new WeightedPicker([{ value, weight: 1 }]),
    }
  }

  #addPolicies(backend: BackendConfig, route: RouteConfig, plain: Backend): Backend {
    const policies = this.#policies.createForBackend(backend.policies, route.policies)
    return policies.length === 0 ? plain : new BackendWithPolicies(plain, policies, enforce)
  }

  #planHost(
    backend: Extract<BackendConfig, { kind: 'host' }>,
    { policies }: RouteConfig,
    llm: LlmPlanner,
  ): Backend {
    const tls = backend.policies.backendTLS ?? policies.backendTLS
    const version = backend.policies.http?.version ?? null
    const pool = this.#poolFor(backend.key, createOrigin(backend.endpoint, tls, version))
    const timeout =
      backend.policies.http?.requestTimeout ?? policies.timeout?.backendRequestTimeout ?? 0
    const maxBytes = policies.buffer?.request.maxBytes ?? 0
    const buffered = (plain: Backend): Backend =>
      maxBytes === 0 ? plain : new BufferedBackend(plain, maxBytes)
    const configured = buffered(new HttpBackend(pool, timeout))
    if (timeout > 0 || (policies.timeout?.requestTimeout ?? 0) > 0)
      return llm.planMetered(backend, configured, configured)
    // LLM requests have no default: a completion that is not streamed has no head before its end.
    const plain = buffered(new HttpBackend(pool, 0, pool.limits.responseHeadTimeout))
    return llm.planMetered(backend, plain, configured)
  }

  #planMcp(
    { key, mcp, policies }: Extract<BackendConfig, { kind: 'mcp' }>,
    route: RouteConfig,
    address: string,
  ): McpBackend {
    const group = this.#shared.groups.groupFor(key, mcp)
    this.groups.add(group)
    const remotes = mcp.targets.flatMap((target) => {
      if (target.kind === 'stdio') return []
      const { host, port, tls } = target
      return [this.#poolFor(key, createOrigin({ kind: 'tcp', host, port }, tls))]
    })
    const [pool] = remotes
    const auth = policies.backendAuth ?? route.policies.backendAuth
    const isProtected = route.policies.mcpAuthentication !== null
    // With one target and no authentication here, client credentials can only be for the target.
    const isPassthrough = !isProtected && mcp.targets.length === 1
    return new McpBackend(group, {
      ruleSets: [route.policies.mcpAuthorization, policies.mcpAuthorization].flatMap((policy) =>
        policy === null ? [] : [policy.rules],
      ),
      protection: selectProtection(mcp.dnsRebindingProtection, address),
      credentials: {
        // After `backendAuth` the header contains the credential of the operator.
        authorization: isPassthrough || auth !== null ? 'all' : 'passthrough',
        // Cookies of a page that authenticates to the gateway are not for the target.
        cookie: isPassthrough ? 'all' : isProtected ? 'none' : 'passthrough',
      },
      documents: isPassthrough && pool !== undefined ? new HttpBackend(pool, 0) : null,
    })
  }

  #poolFor(backend: string, origin: Origin): ConnectionPool {
    this.origins.add(origin.key)
    return this.health.addPool(backend, this.#shared.pools.poolFor(origin))
  }
}

function buildPortLimits(config: Config): PortLimits {
  const guardedNames = collectGuardedNames(config)
  const isAllowed = config.wire.headersWithUnderscores === 'allow'
  const dashed = [...guardedNames].map((name) => name.replaceAll('_', '-'))
  return { ...config.wire, guardedNames, dashedNames: new Set(isAllowed ? [] : dashed) }
}

function backendFactsOf({ key: name, kind }: BackendConfig): BackendFacts {
  switch (kind) {
    case 'mcp':
      return { name, type: 'mcp', protocol: 'mcp' }
    case 'ai':
    case 'llm':
      return { name, type: 'ai', protocol: 'llm' }
    case 'host':
      return { name, type: 'static', protocol: 'http' }
  }
}

/** Response headers that MCP clients in a browser need, added to the configured ones. */
const MCP_EXPOSED_HEADERS = ['mcp-session-id', 'www-authenticate']

/** Methods of MCP, allowed if none are configured. */
const MCP_METHODS = ['GET', 'POST', 'DELETE']

function completeMcpCors(policies: RoutePolicies): RoutePolicies {
  const { cors } = policies
  if (cors === null) return policies
  const allowMethods = cors.allowMethods.length === 0 ? MCP_METHODS : cors.allowMethods
  const exposed = new Set(cors.exposeHeaders.map((name) => name.toLowerCase()))
  const missing = exposed.has('*') ? [] : MCP_EXPOSED_HEADERS.filter((name) => !exposed.has(name))
  const exposeHeaders = [...cors.exposeHeaders, ...missing]
  return { ...policies, cors: { ...cors, allowMethods, exposeHeaders } }
}

function selectProtection(configured: boolean | null, address: string): RebindingProtection {
  if (configured !== null) return configured ? 'strict' : 'off'
  return isLoopback(address) ? 'strict' : 'pages'
}
