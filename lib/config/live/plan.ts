// A checked configuration made live: route tables, compiled policies, pools. Built whole, then never changed.

import type { ByteBudget } from '../../core/byte-budgets.ts'
import type { PortLimits } from '../../core/bounds.ts'
import type { BackendFacts } from '../../core/facts.ts'
import { collectGuardedNames } from './guarded-headers.ts'
import { ConfigFormatter } from '../show.ts'
import type {
  BackendConfig,
  BackendTlsConfig,
  Config,
  EndpointAddress,
  GatewayConfig,
  ListenerConfig,
  RetryConfig,
  RouteConfig,
  RoutePolicies,
  UiConfig,
} from '../config-types.ts'
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
import type { ConnectionPool } from '../../forward/http/pool.ts'
import type { ConnectionPools } from '../../forward/http/pools.ts'
import { McpBackend } from '../../forward/mcp/mcp-backend.ts'
import type { RebindingProtection } from '../../forward/mcp/endpoint/request-checks.ts'
import type { McpGroup } from '../../forward/mcp/mcp-group.ts'
import type { McpGroups } from '../../forward/mcp/mcp-groups.ts'
import { BackendWithPolicies } from '../../forward/backend-attempt.ts'
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
  /** Those of its listener and its own: all that have a say in the answer. */
  readonly allPolicies: readonly Policy[]
  readonly backends: WeightedPicker<PlannedBackend>
  /** Its policies as people read them. */
  readonly describePolicies: () => object
  /** What its clients understand when the gateway itself has something to say. */
  readonly errorFormat: ErrorFormat
  /** Milliseconds to the answer's head, or 0. */
  readonly timeout: number
  readonly retry: RetryConfig | null
}

export interface PlannedBackend {
  readonly backend: Backend
  /** As expressions and traces name it: the same object for every request. */
  readonly facts: BackendFacts
  readonly describePolicies: () => object
}

export interface PlannedListener {
  readonly key: string
  readonly hostname: string
  /** Decided before a route is chosen. */
  readonly policies: readonly Policy[]
  readonly describePolicies: () => object
  readonly routes: RouteTable<PlannedRoute>
}

export interface Plan {
  readonly config: Config
  /** Counts from 1 with every plan that came into force. */
  readonly generation: number
  readonly loadedAt: Date
  /** Of every port. */
  readonly limits: PortLimits
  /** Who answers on which port. */
  readonly ports: ReadonlyMap<number, ListenerTable<PlannedListener>>
  /** The origins it may call, by key. */
  readonly origins: ReadonlySet<string>
  /** The MCP backends it serves. */
  readonly groups: ReadonlySet<McpGroup>
  /** The limits it counts, and the services it asks. */
  readonly rules: ReadonlySet<RateLimitRule>
  readonly services: ReadonlySet<RateLimitService>
  readonly health: BackendHealth
  /** Keys of its routes and listeners, and of its backends, by which is counted. */
  readonly metricKeys: ReadonlySet<string>
  readonly backends: ReadonlySet<string>
}

/** What lives beside the plans, and outlasts them. */
export interface SharedResources {
  readonly pools: ConnectionPools
  readonly groups: McpGroups
  readonly identity: IdentityStore
  readonly limits: LimitRegistry
  readonly services: RateLimitServices
  /** Bytes of LLM requests that are kept for a while. */
  readonly held: ByteBudget
  readonly log: Log
  /** The server of the web UI, made when it is first asked. */
  readonly ui: () => UiServer
}

export function buildPlan(config: Config, standing: SharedResources, generation: number): Plan {
  const planner = new Planner(standing, config)
  const ports = new Map(
    config.gateways.map((gateway) => [gateway.port, planner.listeners(gateway)]),
  )
  const { origins, groups, health } = planner
  const { rules, services } = planner.limits
  const limits = { ...config.wire, guardedNames: collectGuardedNames(config) }
  const loadedAt = new Date()
  const counted = { metricKeys: collectMetricKeys(config), backends: collectBackendKeys(config) }
  const called = { origins, groups, rules, services, health, ...counted }
  return { config, generation, loadedAt, limits, ports, ...called }
}

function collectMetricKeys(config: Config): ReadonlySet<string> {
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const places = listeners.flatMap(({ key, routes }) => [key, ...routes.map((route) => route.key)])
  return new Set([...places, ...collectUiKeys(config)])
}

function collectBackendKeys(config: Config): ReadonlySet<string> {
  const listeners = config.gateways.flatMap((gateway) => gateway.listeners)
  const backends = listeners.flatMap(({ routes }) => routes.flatMap((route) => route.backends))
  return new Set([...backends.map(({ key }) => key), ...collectUiKeys(config)])
}

/** The web UI on a listener is a route and its backend, by one key. */
function collectUiKeys({ ui }: Config): string[] {
  return (ui?.listeners ?? []).map((key) => uiRouteKeyOf({ key }))
}

/** What a listener has for its routes. */
interface ListenerContext {
  readonly gateway: GatewayConfig
  readonly policies: readonly Policy[]
  readonly documents: MetadataRoutes
}

class Planner {
  readonly origins = new Set<string>()
  readonly groups = new Set<McpGroup>()
  readonly health = new BackendHealth()
  readonly limits: LimitPlanner
  readonly #standing: SharedResources
  readonly #policies: PolicyFactory
  readonly #ways: LlmPlanResources
  readonly #showing: ConfigFormatter
  readonly #ui: UiConfig | null

  constructor(standing: SharedResources, config: Config) {
    const { identity, limits, services, held, log } = standing
    this.#standing = standing
    this.#ui = config.ui
    this.#showing = new ConfigFormatter(config.process.sensitiveHeaders)
    this.#policies = new PolicyFactory(identity)
    this.limits = new LimitPlanner(limits, services, log)
    this.#ways = {
      policies: this.#policies,
      held,
      limits: config.llm,
      log,
      health: this.health,
      pool: (key, endpoint, tls) => this.#pool(key, endpoint, tls),
    }
  }

  listeners(gateway: GatewayConfig): ListenerTable<PlannedListener> {
    return new ListenerTable(gateway.listeners.map((listener) => this.#listener(listener, gateway)))
  }

  #listener(listener: ListenerConfig, gateway: GatewayConfig): PlannedListener {
    const { key, hostname } = listener
    const policies = this.#policies.createForListener(listener.policies)
    const documents = new MetadataRoutes(listener.routes)
    const around = { gateway, policies, documents }
    const entries: RouteEntry<PlannedRoute>[] = listener.routes.map((route) => ({
      ...route,
      matches: [...route.matches, ...documents.extraMatchesFor(route)],
      value: this.#route(route, around),
    }))
    if (this.#ui?.listeners.includes(key))
      entries.push(buildUiRoute(listener, this.#page(this.#ui, listener, around)))
    const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
    const shown = (): object => this.#showing.formatFields({ ...listener.policies })
    return {
      key,
      hostname,
      policies,
      describePolicies: shown,
      routes: new RouteTable(entries, scheme),
    }
  }

  #route(
    route: RouteConfig,
    { gateway, policies: outer, documents }: ListenerContext,
  ): PlannedRoute {
    const { key, backends } = route
    const { timeout, retry } = route.policies
    const isMcp = backends.some(({ kind }) => kind === 'mcp')
    const written = isMcp ? exposeMcpHeaders(route.policies) : route.policies
    const limits = this.limits.planRoute(route, gateway)
    const localRateLimit = route.limits.length === 0 ? null : route.limits
    const policies = this.#policies.createForRoute(
      written,
      documents.rootFormsFor(route),
      limits.policies,
    )
    const llm = new LlmPlanner(this.#ways, route, limits.tokens)
    const plainOf = (backend: BackendConfig): Backend => {
      switch (backend.kind) {
        case 'mcp':
          return this.#mcp(backend, route, gateway.address)
        case 'host':
          return llm.planMetered(backend, this.#host(backend, route))
        case 'ai':
          return llm.planProviders(backend)
        case 'llm':
          return llm.planModels(backend)
      }
    }
    const made = backends.map((backend) => ({
      weight: backend.weight,
      value: {
        backend: this.#policed(backend, route, plainOf(backend)),
        facts: backendFactsOf(backend),
        describePolicies: () => this.#showing.formatFields({ ...backend.policies }),
      },
    }))
    return {
      key,
      policies,
      describePolicies: () => this.#showing.formatFields({ ...route.policies, localRateLimit }),
      allPolicies: [...outer, ...policies],
      errorFormat: isMcp ? 'jsonrpc' : 'text',
      timeout: timeout?.requestTimeout ?? 0,
      retry,
      backends: new WeightedPicker(made),
    }
  }

  /** The web UI is a route like others, and answered here. */
  #page(
    { policies: own }: UiConfig,
    listener: ListenerConfig,
    around: ListenerContext,
  ): PlannedRoute {
    const policies = this.#policies.createForListener({ ...own, transformations: null })
    const key = uiRouteKeyOf(listener)
    const value: PlannedBackend = {
      backend: new UiBackend(this.#standing.ui, buildUiAccess(own, listener, around.gateway)),
      facts: { name: key, type: 'static', protocol: 'http' },
      describePolicies: () => ({}),
    }
    return {
      key,
      policies,
      describePolicies: () => this.#showing.formatFields({ ...own }),
      allPolicies: [...around.policies, ...policies],
      errorFormat: 'text',
      timeout: 0,
      retry: null,
      backends: new WeightedPicker([{ value, weight: 1 }]),
    }
  }

  #policed(backend: BackendConfig, route: RouteConfig, plain: Backend): Backend {
    const policies = this.#policies.createForBackend(backend.policies, route.policies)
    return policies.length === 0 ? plain : new BackendWithPolicies(plain, policies, enforce)
  }

  #host(backend: Extract<BackendConfig, { kind: 'host' }>, { policies }: RouteConfig): HttpBackend {
    const tls = backend.policies.backendTLS ?? policies.backendTLS
    const pool = this.#pool(backend.key, backend.endpoint, tls)
    return new HttpBackend(pool, policies.timeout?.backendRequestTimeout ?? 0)
  }

  #mcp(
    { key, mcp, policies }: Extract<BackendConfig, { kind: 'mcp' }>,
    route: RouteConfig,
    address: string,
  ): McpBackend {
    const group = this.#standing.groups.groupFor(key, mcp)
    this.groups.add(group)
    const remotes = mcp.targets.flatMap((target) => {
      if (target.kind === 'stdio') return []
      const { host, port, tls } = target
      return [this.#pool(key, { kind: 'tcp', host, port }, tls)]
    })
    const [pool] = remotes
    const auth = policies.backendAuth ?? route.policies.backendAuth
    const isProtected = route.policies.mcpAuthentication !== null
    // One target, and nobody here who reads them.
    const isOpen = !isProtected && mcp.targets.length === 1
    return new McpBackend(group, {
      rules: [route.policies.mcpAuthorization, policies.mcpAuthorization].flatMap(
        (one) => one?.rules ?? [],
      ),
      protection: selectProtection(mcp.dnsRebindingProtection, address),
      credentials: {
        // Behind `createBackendAuthPolicy` the header is what the operator put there.
        authorization: isOpen || auth !== null ? 'all' : 'passthrough',
        // Those of a page that talks to the gateway are nobody else's.
        cookie: isOpen ? 'all' : isProtected ? 'none' : 'passthrough',
      },
      documents: isOpen && pool !== undefined ? new HttpBackend(pool, 0) : null,
    })
  }

  #pool(backend: string, endpoint: EndpointAddress, tls: BackendTlsConfig | null): ConnectionPool {
    const origin = createOrigin(endpoint, tls)
    this.origins.add(origin.key)
    return this.health.addPool(backend, this.#standing.pools.poolFor(origin))
  }
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

/** Pages need these of an MCP answer, whatever else is exposed. */
const MCP_EXPOSED = ['mcp-session-id', 'www-authenticate']

function exposeMcpHeaders(policies: RoutePolicies): RoutePolicies {
  const { cors } = policies
  if (cors === null || cors.exposeHeaders.includes('*')) return policies
  const named = new Set(cors.exposeHeaders.map((name) => name.toLowerCase()))
  const exposeHeaders = [...cors.exposeHeaders, ...MCP_EXPOSED.filter((name) => !named.has(name))]
  return { ...policies, cors: { ...cors, exposeHeaders } }
}

function selectProtection(written: boolean | null, address: string): RebindingProtection {
  if (written !== null) return written ? 'strict' : 'off'
  return isLoopback(address) ? 'strict' : 'pages'
}
